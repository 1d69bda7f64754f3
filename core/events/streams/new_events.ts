import { Buffer } from "node:buffer";
import type { Change } from "./changes.ts";
import type { Message, Prepared } from "./message.ts";
import type { Reader, View } from "./view.ts";

/** A write ends with the message that brings it to this size. */
const WRITE_BYTES = 16 * 1024;

/** What a client is sent at once, and how many events this was made of. */
interface Write {
  readonly messages: readonly Message[];
  readonly passed: number;
}

/** The writes for some events. `messageFor` is asked about an event when the write before it was taken. */
export function* writesOf(
  events: readonly (Prepared | null)[],
  messageFor: (event: Prepared) => Message | null,
): Generator<Write> {
  let messages: Message[] = [], bytes = 0, passed = 0;
  for (const event of events) {
    passed++;
    const message = event && messageFor(event);
    if (message === null) continue;
    messages.push(message);
    bytes += Buffer.byteLength(message.json);
    if (bytes < WRITE_BYTES) continue;
    yield { messages, passed };
    messages = [], bytes = 0, passed = 0;
  }
  if (passed > 0) yield { messages, passed };
}

/** New events of a tenant, numbered from `first` without a gap. Streams with the same view share their writes. */
export class NewEvents {
  readonly #writes = new Map<string, readonly (readonly Message[])[]>();
  readonly #personal: boolean;

  constructor(
    readonly first: number,
    private readonly events: readonly (Prepared | null)[],
    /** What each of them changed; empty when no stream asks. */
    readonly changes: readonly (readonly Change[])[],
  ) {
    this.#personal = events.some((event) => event?.personal !== undefined);
  }

  /** The number of the last one. */
  get last(): number {
    return this.first + this.events.length - 1;
  }

  /** The messages that a reader with this view is sent, by writes. */
  writesFor(reader: Reader, view: View): readonly (readonly Message[])[] {
    const shared = view.keyFor(reader);
    const key = this.#personal && reader.kind === "user" ? `${reader.userId} ${shared}` : shared;
    let writes = this.#writes.get(key);
    if (writes === undefined) {
      const made = writesOf(this.events, (event) => view.messageFor(reader, event));
      writes = [...made].map(({ messages }) => messages).filter(({ length }) => length > 0);
      this.#writes.set(key, writes);
    }
    return writes;
  }
}
