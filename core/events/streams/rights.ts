import type { Actor, Scope } from "../../identity/identity.ts";
import { WEBHOOK_EVENTS } from "../types/webhook_events.ts";

/** The rights that each give access to some events. */
export const EVENT_RIGHTS: readonly Scope[] = [
  ...new Set(Object.values(WEBHOOK_EVENTS).map(({ scope }) => scope)),
];

/** True for actors who may read some events. */
export const mayRead = ({ rights }: Actor): boolean =>
  EVENT_RIGHTS.some((scope) => rights.has(scope));
