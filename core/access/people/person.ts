import type { Actor } from "../../identity/identity.ts";
import { Fault } from "../../fault/fault.ts";

/** Refuses everybody but a user with a session. @throws {Fault} FORBIDDEN */
export function mustBeSignedIn(actor: Actor): asserts actor is Actor & { sessionId: string } {
  if (actor.kind === "user" && actor.sessionId !== null) return;
  throw new Fault("FORBIDDEN", "Only a signed-in user may do this. Sign in and send the JWT.");
}

/** True unless the credential is limited to some of the rights of its person. */
export const actsForPerson = ({ withoutRights, foreign, grantId }: Actor): boolean =>
  !withoutRights && grantId === undefined && (foreign === undefined || foreign.scopes === null);

/**
 * Personal things, such as settings and own keys, are closed to a sign-in without rights, to an MCP client, and to
 * another issuer's token that names scopes.
 * @throws {Fault} FORBIDDEN
 */
export function mustActForPerson(actor: Actor): void {
  if (actsForPerson(actor)) return;
  const message = actor.withoutRights
    ? "This sign-in has no rights. Set up a second factor, or send a token with scopes."
    : "This token is limited to its scopes. Use a token without that limit.";
  throw new Fault("FORBIDDEN", message);
}
