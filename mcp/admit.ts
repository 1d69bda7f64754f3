import { Fault } from "../core/fault/fault.ts";
import { deny, denyTestSpace, isClosedTo, missingRights } from "../routes/call/rights.ts";
import type { Route } from "../routes/call/route.ts";
import type { Exchange } from "./exchange.ts";
import { mayCall } from "./tools.ts";

/**
 * Refuses callers that may not use a route, before anything is answered; null at once for who may.
 * @throws {Fault} MISSING_CREDENTIALS, INSUFFICIENT_SCOPES, FORBIDDEN
 */
export const admit = (exchange: Exchange, route: Route): Promise<void> | null =>
  mayCall(exchange.actor, route) ? null : turnAway(exchange, route);

async function turnAway({ relay, actor, info }: Exchange, route: Route): Promise<never> {
  if (actor.kind === "anonymous") {
    throw new Fault("MISSING_CREDENTIALS", undefined, { required: scopesOf(route) });
  }
  if (isClosedTo(actor, route)) throw await denyTestSpace(relay, route, actor, info);
  throw await deny(relay, route, actor, info, missingRights(route, actor) ?? []);
}

/** The rights of which each would do. */
const scopesOf = ({ access }: Route): readonly string[] =>
  "scope" in access ? [access.scope].flat() : [];
