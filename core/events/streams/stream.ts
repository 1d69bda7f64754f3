import type { EventLog } from "../../../kv/log/log.ts";
import type { Actor } from "../../work/work.ts";
import type { StreamEnd } from "./ends.ts";
import type { Message, Prepared } from "./message.ts";
import { reaches, type Severity } from "./severity.ts";

/** What a subscriber wants to see; what is left out does not restrict. */
export interface StreamFilter {
  readonly types?: ReadonlySet<string> | undefined;
  readonly agentId?: string | undefined;
  /** At least this. */
  readonly severity?: Severity | undefined;
}

/** The way to one client. */
export interface Sink {
  send(message: Message): void;
  /** Bytes that the client has not taken yet. */
  readonly bufferedBytes: number;
  /** Resolves when the client has taken nearly all, or is gone. */
  drained(): Promise<void>;
  /** Says why, and lets the client go. */
  end(name: StreamEnd): void;
}

/** What may wait for a client that reads slowly. */
export const BUFFER_BYTES_MAX = 1024 * 1024;
/** While catching up, reading the log pauses at this. */
const CATCH_UP_BYTES = 128 * 1024;
const PAGE = 200;

/**
 * One subscriber of a tenant's log. It stands at a position and moves on event by event: live ones while
 * they follow on it, otherwise by reading the log, so nothing is passed over and nothing comes twice.
 */
export class Stream {
  #position: number;
  #catchingUp = false;
  #ended = false;
  /** Reading on waits for the client; and it did so at the heartbeat before. */
  #waiting = false;
  #waitedBefore = false;
  /** Something came that does not follow on the position. */
  #behind = false;

  constructor(
    public actor: Actor,
    /** When the actor was last found out. */
    public checkedAtMs: number,
    private readonly filter: StreamFilter,
    readonly sink: Sink,
    from: number,
    private readonly source: {
      readonly log: EventLog;
      readonly prepare: (
        events: Awaited<ReturnType<EventLog["read"]>>,
      ) => readonly (Prepared | null)[];
      readonly failed: (error: unknown) => void;
    },
  ) {
    this.#position = from;
  }

  /** The number of the last event that was sent or passed over. */
  get position(): number {
    return this.#position;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** New events of the log, numbered from `first` on without a gap. */
  take(first: number, events: readonly (Prepared | null)[]): void {
    if (this.#ended) return;
    if (this.#catchingUp || first !== this.#position + 1) {
      this.#behind = true;
      this.catchUp();
      return;
    }
    this.#send(events);
  }

  /** Reads on from the position until the log's end. */
  catchUp(): void {
    if (this.#catchingUp || this.#ended) return;
    this.#catchingUp = true;
    this.#readOn().catch((error) => {
      this.source.failed(error);
      this.end("interrupted");
    });
  }

  /** Sends a heartbeat, unless the client has taken nothing of what it asked for since the last one. */
  beat(heartbeat: Message): void {
    if (this.#waitedBefore) return this.end("too_slow");
    this.#waitedBefore = this.#waiting;
    this.say(heartbeat);
  }

  /** Sends a message, and ends when too much waits. */
  say(message: Message): void {
    this.sink.send(message);
    if (this.sink.bufferedBytes > BUFFER_BYTES_MAX) this.end("too_slow");
  }

  end(name: StreamEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.sink.end(name);
  }

  /** The client has gone by itself. */
  left(): void {
    this.#ended = true;
  }

  async #readOn(): Promise<void> {
    const { log, prepare } = this.source;
    do {
      this.#behind = false;
      for (;;) {
        const events = await log.read(this.actor.tenant, this.#position, PAGE);
        if (this.#ended || events.length === 0) break;
        // What was there a moment ago is over its retention: the client has to know.
        if (events[0]!.seq !== this.#position + 1) return this.end("interrupted");
        for (const event of prepare(events)) {
          this.#send([event]);
          if (this.sink.bufferedBytes > CATCH_UP_BYTES) await this.#drained();
        }
      }
    } while (this.#behind && !this.#ended);
    this.#catchingUp = false;
  }

  async #drained(): Promise<void> {
    this.#waiting = true;
    await this.sink.drained();
    this.#waiting = this.#waitedBefore = false;
  }

  #send(events: readonly (Prepared | null)[]): void {
    for (const event of events) {
      if (this.#ended) return;
      this.#position++;
      if (event === null || !this.#wants(event)) continue;
      this.say(this.#ownOf(event));
    }
  }

  /** A notification has another text for each who was told. */
  #ownOf(event: Prepared): Message {
    const json = event.personal?.get(this.actor.userId);
    return json === undefined ? event : { kind: event.kind, id: event.id, json };
  }

  #wants({ type, agentId, severity, scope, personal }: Prepared): boolean {
    const { filter, actor } = this;
    if (personal !== undefined && (actor.kind !== "user" || !personal.has(actor.userId))) {
      return false;
    }
    return (scope === null || actor.rights.has(scope)) &&
      (filter.types === undefined || filter.types.has(type)) &&
      (filter.agentId === undefined || filter.agentId === agentId) &&
      (filter.severity === undefined || reaches(severity, filter.severity));
  }
}
