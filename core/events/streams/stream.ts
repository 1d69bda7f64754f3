import type { EventLog } from "../../../kv/log/log.ts";
import type { Actor } from "../../identity/identity.ts";
import type { StreamEnd } from "./ends.ts";
import { type Announcement, idOf, type Message, type Prepared } from "./message.ts";
import { mayRead } from "./rights.ts";
import { isAtLeast, type Severity } from "./severity.ts";

/** Which events a subscriber wants; an absent field does not restrict. */
export interface StreamFilter {
  readonly types?: ReadonlySet<string> | undefined;
  readonly agentId?: string | undefined;
  readonly thread?: string | undefined;
  /** The lowest severity wanted. */
  readonly severity?: Severity | undefined;
}

/** The connection to one client. */
export interface Sink {
  send(message: Message): void;
  /** Bytes that the client has not read yet. */
  readonly bufferedBytes: number;
  /** Resolves when the buffer is nearly empty or the client has disconnected. */
  drained(): Promise<void>;
  /** Sends the reason and closes the connection. */
  end(name: StreamEnd): void;
}

/** An open stream of any kind, as `Streams` keeps it. */
export interface OpenStream {
  actor: Actor;
  /** When the actor's credential was last checked. */
  checkedAtMs: number;
  /** When the actor's credential is checked next, in ms. */
  nextCheckMs: number;
  readonly ended: boolean;
  /** Whether an actor may go on reading. */
  mayRead(actor: Actor): boolean;
  /** Sends a heartbeat, named after the tenant's log. Ends the stream when the client has read nothing since the last one. */
  beat(history: string): void;
  end(name: StreamEnd): void;
  /** Ends the stream without a message, because the client has disconnected. */
  left(): void;
}

/** A client with more unread bytes is disconnected. */
export const BUFFER_BYTES_MAX = 1024 * 1024;
/** Catching up pauses while this many bytes are unread. */
const CATCH_UP_BYTES = 128 * 1024;
const PAGE = 200;

/**
 * One subscriber of a tenant's log. It advances event by event: by live events while they follow its position
 * without a gap, otherwise by reading the log. So no event is missed and none is sent twice.
 */
export class Stream implements OpenStream {
  nextCheckMs = 0;
  #position: number;
  #catchingUp = false;
  #ended = false;
  /** True while catching up waits for the client to read; `#waitedBefore` is its value at the last heartbeat. */
  #waiting = false;
  #waitedBefore = false;
  /** An event arrived that does not follow the position, so the log must be read again. */
  #behind = false;

  constructor(
    public actor: Actor,
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

  /** The number of the last event that was sent or filtered out. */
  get position(): number {
    return this.#position;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Takes new events, numbered from `first` without a gap. */
  take(first: number, events: readonly (Prepared | null)[]): void {
    if (this.#ended) return;
    if (this.#catchingUp || first !== this.#position + 1) {
      this.#behind = true;
      this.catchUp();
      return;
    }
    this.#send(events);
  }

  /** Reads the log from the position to its end. */
  catchUp(): void {
    if (this.#catchingUp || this.#ended) return;
    this.#catchingUp = true;
    this.#readLog().catch((error) => {
      this.source.failed(error);
      this.end("interrupted");
    });
  }

  beat(history: string): void {
    if (this.#waitedBefore) return this.end("too_slow");
    this.#waitedBefore = this.#waiting;
    this.say({ kind: "heartbeat", id: idOf(history, this.#position), json: "{}" });
  }

  readonly mayRead = mayRead;

  /** Sends a message that is not in the log, if the subscriber wants and may read it. */
  announce(news: Announcement): void {
    if (!this.#ended && this.#wants(news)) this.say(news);
  }

  /** Sends a message. Ends the stream when too much is unread. */
  say(message: Message): void {
    this.sink.send(message);
    if (this.sink.bufferedBytes > BUFFER_BYTES_MAX) this.end("too_slow");
  }

  end(name: StreamEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.sink.end(name);
  }

  left(): void {
    this.#ended = true;
  }

  async #readLog(): Promise<void> {
    const { log, prepare } = this.source;
    do {
      this.#behind = false;
      for (;;) {
        const events = await log.read(this.actor.tenant, this.#position, PAGE);
        if (this.#ended || events.length === 0) break;
        // Retention removed the next events meanwhile, so the client must be told of the gap.
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
      this.say(this.#personalized(event));
    }
  }

  /** A notification has a different text for each recipient. */
  #personalized(event: Prepared): Message {
    const json = event.personal?.get(this.actor.userId);
    return json === undefined ? event : { kind: event.kind, id: event.id, json };
  }

  #wants({ type, agentId, thread, severity, scope, personal }: Announcement): boolean {
    const { filter, actor } = this;
    if (personal !== undefined && (actor.kind !== "user" || !personal.has(actor.userId))) {
      return false;
    }
    return (scope === null || actor.rights.has(scope)) &&
      (filter.types === undefined || filter.types.has(type)) &&
      (filter.agentId === undefined || filter.agentId === agentId) &&
      (filter.thread === undefined || filter.thread === thread) &&
      (filter.severity === undefined || isAtLeast(severity, filter.severity));
  }
}
