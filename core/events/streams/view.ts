import type { Actor } from "../../identity/identity.ts";
import type { Announcement, Message } from "./message.ts";
import { isAtLeast, type Severity } from "./severity.ts";

/** Which events a subscriber wants; an absent field does not restrict. */
export interface StreamFilter {
  readonly types?: ReadonlySet<string> | undefined;
  readonly agentId?: string | undefined;
  readonly thread?: string | undefined;
  /** The lowest severity wanted. */
  readonly severity?: Severity | undefined;
}

/** What decides which events a caller may read. */
export type Reader = Pick<Actor, "kind" | "rights" | "userId">;

/** What a filter looks at. */
type Subject = Pick<Announcement, "type" | "agentId" | "thread" | "severity">;

/** What a stream shows: what its filter and the present rights of its reader leave of all events. */
export class View {
  readonly #filterKey: string;
  #rights: Reader["rights"] | null = null;
  #key = "";

  constructor(private readonly filter: StreamFilter) {
    const { types, agentId, thread, severity } = filter;
    this.#filterKey = JSON.stringify([types && [...types].sort(), agentId, thread, severity]);
  }

  /** Streams with the same key show the same events, but for notifications. */
  keyFor({ rights }: Reader): string {
    if (rights !== this.#rights) {
      this.#rights = rights;
      this.#key = `${keyOf(rights)} ${this.#filterKey}`;
    }
    return this.#key;
  }

  /** An event as the reader gets it; null when they do not want it or may not read it. */
  messageFor({ kind, userId, rights }: Reader, event: Announcement): Message | null {
    const { personal, scope } = event;
    const text = personal?.get(userId);
    if (personal !== undefined && (kind !== "user" || text === undefined)) return null;
    if (scope !== null && !rights.has(scope) || !this.matches(event)) return null;
    return text === undefined ? event : { kind: event.kind, id: event.id, json: text };
  }

  /** Whether the filter lets it through. */
  matches({ type, agentId, thread, severity }: Subject): boolean {
    const { filter } = this;
    return (filter.types === undefined || filter.types.has(type)) &&
      (filter.agentId === undefined || filter.agentId === agentId) &&
      (filter.thread === undefined || filter.thread === thread) &&
      (filter.severity === undefined || isAtLeast(severity, filter.severity));
  }
}

const keys = new WeakMap<Reader["rights"], string>();

/** The streams of a credential share one set of rights, so its key is made once. */
function keyOf(rights: Reader["rights"]): string {
  const key = keys.get(rights) ?? [...rights].sort().join();
  keys.set(rights, key);
  return key;
}
