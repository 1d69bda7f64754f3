import type { EventLog, Sequenced } from "../../../kv/log/log.ts";
import type { Clock } from "../../../kv/store/clock.ts";
import type { Actor } from "../../identity/identity.ts";
import { announceChange, type Change, CHANGED, changesIn, mayReadChange } from "./changes.ts";
import type { StreamEnd } from "./ends.ts";
import { type Announcement, idOf, type Message, type Prepared } from "./message.ts";
import { type NewEvents, writesOf } from "./new_events.ts";
import { PendingChanges } from "./pending_changes.ts";
import { mayRead } from "./rights.ts";
import { type StreamFilter, View } from "./view.ts";

/** The connection to one client. */
export interface Sink {
  /** Sends messages at once. Many clients get the same array, so what is made of it can be kept. */
  send(messages: readonly Message[]): void;
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
/** Catching up and changes wait while this many bytes are unread. */
const CATCH_UP_BYTES = 128 * 1024;
const PAGE = 200;

/**
 * One subscriber of a tenant's log. It advances event by event: by live events while they follow its position
 * without a gap, otherwise by reading the log. So no event is missed and none is sent twice.
 */
export class Stream implements OpenStream {
  nextCheckMs = 0;
  readonly #view: View;
  #position: number;
  #catchingUp = false;
  #ended = false;
  /** True while catching up waits for the client to read; `#waitedBefore` is its value at the last heartbeat. */
  #waiting = false;
  #waitedBefore = false;
  /** An event arrived that does not follow the position, so the log must be read again. */
  #behind = false;
  /** Null for subscribers who did not ask for changes. */
  readonly #changes: PendingChanges | null;
  /** True while changes wait for the client to read. */
  #changesWait = false;

  constructor(
    public actor: Actor,
    public checkedAtMs: number,
    filter: StreamFilter,
    readonly sink: Sink,
    from: number,
    private readonly source: {
      readonly log: EventLog;
      readonly clock: Pick<Clock, "after">;
      /** The number of the newest event when the stream was opened. Later ones are announced as changes. */
      readonly head: number;
      readonly prepare: (events: readonly Sequenced[]) => readonly (Prepared | null)[];
      readonly failed: (error: unknown) => void;
    },
  ) {
    this.#view = new View(filter);
    this.#position = from;
    this.#changes = filter.types?.has(CHANGED)
      ? new PendingChanges(source.clock, (changes) => this.#tellChanges(changes))
      : null;
  }

  get wantsChanges(): boolean {
    return this.#changes !== null;
  }

  /** The number of the last event that was sent or filtered out. */
  get position(): number {
    return this.#position;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Takes new events, and what they changed. */
  take(news: NewEvents): void {
    if (this.#ended) return;
    if (this.#catchingUp || news.first !== this.#position + 1) {
      this.#behind = true;
      this.catchUp();
      return;
    }
    this.#position = news.last;
    this.#takeChanges(news.first, news.changes);
    for (const messages of news.writesFor(this.actor, this.#view)) this.say(messages);
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
    this.#waitedBefore = this.#waiting || this.#changesWait;
    this.say([{ kind: "heartbeat", id: idOf(history, this.#position), json: "{}" }]);
  }

  readonly mayRead = mayRead;

  /** Sends a message that is not in the log, if the subscriber wants and may read it. */
  announce(news: readonly [Announcement]): void {
    if (this.#view.messageFor(this.actor, news[0]) !== null) this.say(news);
  }

  /** Announces a change, together with others, if the subscriber wants and may read it. */
  change(change: Change): void {
    if (!this.#ended && this.#wantsChange(change)) this.#changes?.add(change);
  }

  /** Says that anything may have changed before the stream was opened. */
  beginChanges(): void {
    if (this.#changes !== null) this.say([announceChange(null)]);
  }

  /** Sends messages. Ends the stream when too much is unread. */
  say(messages: readonly Message[]): void {
    if (this.#ended || messages.length === 0) return;
    this.sink.send(messages);
    if (this.sink.bufferedBytes > BUFFER_BYTES_MAX) this.end("too_slow");
  }

  end(name: StreamEnd): void {
    if (this.#ended) return;
    this.left();
    this.sink.end(name);
  }

  left(): void {
    this.#ended = true;
    this.#changes?.stop();
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
        if (this.#changes !== null) {
          this.#takeChanges(events[0]!.seq, changesIn(this.actor.tenant, events));
        }
        const messageFor = (event: Prepared) => this.#view.messageFor(this.actor, event);
        for (const { messages, passed } of writesOf(prepare(events), messageFor)) {
          this.#position += passed;
          this.say(messages);
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

  /** Takes what the events from number `first` on changed. */
  #takeChanges(first: number, changes: readonly (readonly Change[])[]): void {
    for (const [at, some] of changes.entries()) {
      if (first + at > this.source.head) { for (const change of some) this.change(change); }
    }
  }

  /** Sends changes, or null when there were too many; false when the client has to read first. */
  #tellChanges(changes: readonly Change[] | null): boolean {
    this.#changesWait = this.sink.bufferedBytes > CATCH_UP_BYTES;
    if (this.#changesWait) return false;
    if (!this.#waiting) this.#waitedBefore = false;
    // The right to read a resource may have ended since it changed.
    const wanted = changes?.filter((each) => this.#wantsChange(each)) ?? [null];
    this.say(wanted.map(announceChange));
    return true;
  }

  #wantsChange(change: Change): boolean {
    return this.#view.matches(change) && mayReadChange(this.actor, change);
  }
}
