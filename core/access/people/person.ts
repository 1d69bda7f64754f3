import type { Actor } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";

/** A user who is signed in. @throws {Fault} FORBIDDEN for an API key */
export function mustBeSignedIn(actor: Actor): asserts actor is Actor & { sessionId: string } {
  if (actor.kind === "user" && actor.sessionId !== null) return;
  throw new Fault("FORBIDDEN", "Only a person may do this: sign in, and send the JWT.");
}

/** True unless the credential carries fewer rights than its person has: then its scopes are all it is for. */
export const actsForPerson = ({ bare, foreign }: Actor): boolean =>
  !bare && (foreign === undefined || foreign.scopes === null);

/**
 * What belongs to the person, such as settings and keys of their own, is not open to a sign-in without
 * rights or to another issuer's token that names scopes.
 * @throws {Fault} FORBIDDEN
 */
export function mustActForPerson(actor: Actor): void {
  if (actsForPerson(actor)) return;
  const message = actor.bare
    ? "This sign-in may do nothing: set up a second factor, or show a token that names rights."
    : "This token may do what its scopes say, and nothing else in its person's name.";
  throw new Fault("FORBIDDEN", message);
}
