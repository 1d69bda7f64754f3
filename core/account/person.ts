import type { Actor } from "../app.ts";
import { Fault } from "../fault.ts";

/** A user who is signed in. @throws {Fault} FORBIDDEN for an API key */
export function mustBeSignedIn(actor: Actor): asserts actor is Actor & { sessionId: string } {
  if (actor.kind === "user" && actor.sessionId !== null) return;
  throw new Fault("FORBIDDEN", "Only a person may do this: sign in, and send the JWT.");
}

/**
 * A sign-in that may do nothing looks after nothing of its person's either.
 * @throws {Fault} FORBIDDEN
 */
export function mustNotBeBare({ bare }: Actor): void {
  if (!bare) return;
  throw new Fault(
    "FORBIDDEN",
    "This sign-in may do nothing: set up a second factor, or show a token that names rights.",
  );
}
