import { Fault } from "../../core/fault/fault.ts";
import type { Actor, RequestInfo, Scope } from "../../core/identity/identity.ts";
import type { Context } from "../../core/context/context.ts";
import { type Endpoint, recordDenial } from "./records.ts";
import type { Route } from "./route.ts";

/** The rights of which the actor needs one and has none; null when the actor may call the route. */
export function missingRights(
  { access }: Pick<Route, "access">,
  actor: Actor,
): readonly Scope[] | null {
  if (!("scope" in access)) return null;
  const needed = typeof access.scope === "string" ? [access.scope] : access.scope;
  const has = needed.some((scope) => actor.rights.has(scope));
  return has && (!access.host || actor.host) ? null : needed;
}

/** True for a route that is closed to the test space when the actor works in it. */
export const isClosedTo = ({ tenant }: Actor, { liveOnly }: Pick<Route, "liveOnly">): boolean =>
  liveOnly === true && tenant.space === "test";

/** The fault of an actor who lacks rights. */
export function lacking({ rights }: Actor, required: readonly Scope[]): Fault {
  const granted = [...rights];
  if (!required.some((scope) => rights.has(scope))) {
    const message = `This requires ${required.join(" or ")}.`;
    return new Fault("INSUFFICIENT_SCOPES", message, { required, granted });
  }
  const message = "Only the organization that runs this installation may do this.";
  return new Fault("INSUFFICIENT_SCOPES", message, { required, granted, host: true });
}

/** Records that the actor lacks rights, and returns the fault to throw. */
export async function deny(
  log: Pick<Context, "store" | "ports" | "signals">,
  endpoint: Endpoint,
  actor: Actor,
  request: RequestInfo,
  required: readonly Scope[],
): Promise<Fault> {
  await recordDenial(log, endpoint, actor, request, { required: [...required] });
  return lacking(actor, required);
}

/** Records that the test space may not call this, and returns the fault to throw. */
export async function denyTestSpace(
  log: Pick<Context, "store" | "ports" | "signals">,
  endpoint: Endpoint,
  actor: Actor,
  request: RequestInfo,
): Promise<Fault> {
  await recordDenial(log, endpoint, actor, request, { space: "test" });
  return new Fault(
    "FORBIDDEN",
    "This is not available in the test space. Use a live key, or sign in without " +
      "X-Relay-Space: test.",
  );
}
