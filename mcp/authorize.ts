import { Fault } from "../core/fault/fault.ts";
import { deny, denyTestSpace, isClosedTo, missingRights } from "../routes/call/rights.ts";
import type { Route } from "../routes/call/route.ts";
import type { Exchange } from "./exchange.ts";
import { mayCall } from "./tools.ts";

/**
 * Refuses a caller who may not use a route, before the answer begins; null, without waiting, for one who may.
 * @throws {Fault} MISSING_CREDENTIALS, INSUFFICIENT_SCOPES, FORBIDDEN
 */
export const authorize = (exchange: Exchange, route: Route): Promise<void> | null =>
  mayCall(exchange.actor, route) ? null : refuse(exchange, route);

async function refuse({ relay, actor, info }: Exchange, route: Route): Promise<never> {
  if (actor.kind === "anonymous") {
    throw new Fault("MISSING_CREDENTIALS", undefined, { required: scopesOf(route) });
  }
  if (isClosedTo(actor, route)) throw await denyTestSpace(relay, route, actor, info);
  throw await deny(relay, route, actor, info, missingRights(route, actor) ?? []);
}

/** The rights of which the route needs one. */
const scopesOf = ({ access }: Route): readonly string[] =>
  "scope" in access ? [access.scope].flat() : [];
