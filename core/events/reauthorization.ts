import type { Actor, Scope } from "../identity/identity.ts";

/** Checks callers again during long work, such as a stream or an export. */
export interface Reauthorization {
  /** The actor with its present rights; null once its credential has ended. */
  current(actor: Actor): Promise<Actor | null>;
  /** @throws {Fault} INSUFFICIENT_SCOPES when the actor has none of these rights any more */
  mustStillHave(actor: Actor, required: readonly Scope[]): Promise<void>;
}
