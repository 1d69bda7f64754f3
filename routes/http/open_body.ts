import { type LimitState, mustPass } from "../../core/access/limits/limiter.ts";
import { BODY_BYTES_MAX, type BodyBounds, tooLarge } from "./body.ts";
import type { Caller, Route } from "../call/route.ts";

/**
 * The largest body of a caller who has shown no credential that is right. An address is charged a request more
 * for each further piece of this size, so that it is work that its limit counts.
 */
export const OPEN_BODY_BYTES_MAX = 16 * 1024;

/** The largest body that a route takes from anybody. */
export const bodyBytesMaxOf = ({ access, bodyBytesMax, largerBody }: Route): number =>
  "public" in access ? largerBody?.bytesMax ?? OPEN_BODY_BYTES_MAX : bodyBytesMax ?? BODY_BYTES_MAX;

/** What a caller who is not known may send: little, or more by a proof that is not the body's own word. */
export function openBounds(
  { largerBody }: Route,
  caller: Caller,
  limited: (state: LimitState) => void,
): BodyBounds {
  if (largerBody === undefined) return { bytesMax: OPEN_BODY_BYTES_MAX };
  const { bytesMax, unless, mayCome, proved } = largerBody;
  const refusal = () => tooLarge(OPEN_BODY_BYTES_MAX, ` unless ${unless}`);
  return {
    bytesMax: OPEN_BODY_BYTES_MAX,
    async more() {
      if (!await mayCome(caller)) throw refusal();
      return bytesMax;
    },
    charge: chargedByBytes(caller, limited),
    async prove(bytes) {
      if (proved !== undefined && !await proved(caller, bytes)) throw refusal();
    },
  };
}

/** The first piece has been paid for with the request. @throws {Fault} RATE_LIMIT_EXCEEDED */
function chargedByBytes(
  { app, request }: Caller,
  limited: (state: LimitState) => void,
): (bytes: number) => Promise<void> {
  let paid = 1;
  return async (bytes) => {
    const pieces = Math.ceil(bytes / OPEN_BODY_BYTES_MAX);
    if (pieces <= paid) return;
    const state = await app.limiter.takeForAddress(request.address, pieces - paid);
    limited(state);
    mustPass(state, app.ports.clock.now());
    paid = pieces;
  };
}
