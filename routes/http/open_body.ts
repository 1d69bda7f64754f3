import { type LimitState, mustPass } from "../../core/access/access.ts";
import { BODY_BYTES_MAX, type BodyBounds, tooLarge } from "./body.ts";
import type { Caller, Route } from "../call/route.ts";

/**
 * The largest body in bytes of a caller without a valid credential. Each further piece of this size costs the
 * address one more request, so that its limit follows the work.
 */
export const OPEN_BODY_BYTES_MAX = 16 * 1024;

/** The largest body in bytes that a route takes. */
export const bodyBytesMaxOf = ({ access, bodyBytesMax, largerBody }: Route): number =>
  "public" in access ? largerBody?.bytesMax ?? OPEN_BODY_BYTES_MAX : bodyBytesMax ?? BODY_BYTES_MAX;

/** The bounds of an anonymous caller's body: small, or larger with a proof from outside the body. */
export function openBounds(
  { largerBody }: Route,
  caller: Caller,
  limited: (state: LimitState) => void,
): BodyBounds {
  if (largerBody === undefined) return { bytesMax: OPEN_BODY_BYTES_MAX };
  const { bytesMax, unless, maySend, proved } = largerBody;
  const refusal = () => tooLarge(OPEN_BODY_BYTES_MAX, ` unless ${unless}`);
  return {
    bytesMax: OPEN_BODY_BYTES_MAX,
    async more() {
      if (!await maySend(caller)) throw refusal();
      return bytesMax;
    },
    charge: chargedByBytes(caller, limited),
    async prove(bytes) {
      if (proved !== undefined && !await proved(caller, bytes)) throw refusal();
    },
  };
}

/**
 * Charges all pieces but the first, which the request itself has paid. One body costs at most the whole limit of an
 * address, so that it passes in an unused window. @throws {Fault} RATE_LIMIT_EXCEEDED
 */
function chargedByBytes(
  { relay, request }: Caller,
  limited: (state: LimitState) => void,
): (bytes: number) => Promise<void> {
  let paid = 1;
  return async (bytes) => {
    const most = relay.config().limits.public_per_minute ?? Infinity;
    const pieces = Math.min(most, Math.ceil(bytes / OPEN_BODY_BYTES_MAX));
    if (pieces <= paid) return;
    const state = await relay.limiter.takeForAddress(request.address, pieces - paid);
    limited(state);
    mustPass(state, relay.ports.clock.now());
    paid = pieces;
  };
}
