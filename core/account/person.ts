import type { Actor } from "../app.ts";
import { Fault } from "../fault.ts";

/** A user who is signed in. @throws {Fault} FORBIDDEN for an API key */
export function mustBeSignedIn(actor: Actor): asserts actor is Actor & { sessionId: string } {
  if (actor.kind === "user" && actor.sessionId !== null) return;
  throw new Fault("FORBIDDEN", "Only a person may do this: sign in, and send the JWT.");
}
