import { dueAt } from "../../../kv/store/clock.ts";
import { type Tenant, tenantKey, tenantOf } from "../../../kv/store/collection.ts";
import type { EventLog, Sequenced } from "../../../kv/log/log.ts";
import { type Actor, CHECK_SHARED_MS, nextCheckOf } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import type { Background, Cancel } from "../../ports/ports.ts";
import { Fault, type LimitHolder, limitReached } from "../../fault/fault.ts";
import type { Reauthorization } from "../reauthorization.ts";
import { type Change, changeOfStart, changesIn, isChange } from "./changes.ts";
import type { StreamEnd } from "./ends.ts";
import {
  announceStart,
  historyOf,
  idOf,
  isStreamed,
  type Message,
  positionOf,
  prepare,
  type StartedCommand,
} from "./message.ts";
import { NewEvents } from "./new_events.ts";
import { type OpenStream, type Sink, Stream } from "./stream.ts";
import type { StreamFilter } from "./view.ts";

/** How often a client gets a heartbeat with its position. */
const HEARTBEAT_SECONDS = 15;
/** How often credentials are checked: a lost right is gone from open streams within a second. */
const SWEEP_MS = 500;
/** How long a stream continues while its credential cannot be checked. */
const UNCHECKED_MS = 10_000;
/** How often a shared store is polled for other instances' events, in case a pulse was missed. */
const POLL_MS = 5_000;
const STREAMS_MAX = 20_000;
/** The largest share of all streams that one organization may hold. */
const ORGANIZATION_SHARE = 0.5;
/** Streams of one person. Keys are limited by their open connections instead. */
const PER_PERSON_MAX = 50;

/** The parts of the relay that streams use. */
export interface StreamNeeds {
  readonly store: Pick<Context["store"], "sole">;
  readonly log: EventLog;
  readonly ports: Pick<Context["ports"], "clock" | "log">;
  readonly background: Pick<Background, "run">;
  /** Names the history of the logs in event ids. */
  readonly epoch: string;
  readonly authenticator: Pick<Reauthorization, "current">;
}

/** The open streams of this process: of events, and what `join` adds. */
export class Streams {
  readonly #byTenant = new Map<string, Set<OpenStream>>();
  /** The number of streams that announce changes, by tenant. */
  readonly #changeReaders = new Map<string, number>();
  #open = 0;
  #timer: Cancel | null = null;
  #pollTimer: Cancel | null = null;
  #sinceHeartbeatMs = 0;
  #checking = false;
  /** Counts the calls of `recheck`: a check that began before the last one may have read older rights. */
  #rechecks = 0;
  #catchingUp = false;
  /** Which tenants' logs are read next. */
  readonly #dueLogs = new Set<(tenant: Tenant) => boolean>();
  #stopped = false;

  constructor(private readonly relay: StreamNeeds, private readonly most = STREAMS_MAX) {}

  /** Subscribes to the log. */
  start(): void {
    const { log } = this.relay;
    log.watch((type, tenant) =>
      isStreamed(type) && this.#byTenant.has(tenantKey(tenant)) ||
      this.#changeReaders.size > 0 && isChange(type) && this.#changeReaders.has(tenantKey(tenant))
    );
    log.onSequenced((tenant, events) => this.#sequenced(tenant, events));
    log.onPulse((of) => this.#catchUpInBackground(of));
  }

  get size(): number {
    return this.#open;
  }

  /**
   * Opens a stream after an event id, or at the log's end. The first message says whether every event since
   * that id will follow.
   * @throws {Fault} UNAVAILABLE, RATE_LIMIT_EXCEEDED when too many are open, VALIDATION_FAILED for a malformed
   * id
   */
  async open(
    actor: Actor,
    filter: StreamFilter,
    lastEventId: string | null,
    sink: Sink,
  ): Promise<Stream> {
    const { log, ports } = this.relay;
    const { tenant } = actor;
    const { from, head, recovered } = await this.#startOf(tenant, lastEventId);
    const stream: Stream = new Stream(actor, ports.clock.now(), filter, sink, from, {
      log,
      clock: ports.clock,
      head,
      prepare: (events) => this.#prepare(tenant, events),
      failed: (error) =>
        ports.log.error("a stream could not read the log", { error: String(error) }),
    });
    this.join(stream);
    stream.say([this.#hello(tenant, from, recovered)]);
    stream.beginChanges();
    stream.catchUp();
    return stream;
  }

  /**
   * Adds a stream, which from now on gets heartbeats, has its credential checked, and ends when the relay stops.
   * @throws {Fault} UNAVAILABLE, RATE_LIMIT_EXCEEDED when too many are open
   */
  join(stream: OpenStream): void {
    this.mustHaveCapacity(stream.actor);
    const key = tenantKey(stream.actor.tenant);
    const streams = this.#byTenant.get(key) ?? new Set();
    this.#byTenant.set(key, streams.add(stream));
    this.#countChangeReader(stream, 1);
    this.#open++;
    this.#timer ??= this.#sweepLater();
    if (!this.relay.store.sole) this.#pollTimer ??= this.#pollLater();
  }

  /** Tells the readers of events that a command was sent to its agent. */
  commandStarted(tenant: Tenant, command: StartedCommand): void {
    if (this.#open === 0) return;
    const streams = this.#eventStreams(tenantKey(tenant));
    if (streams.length === 0) return;
    const news = [announceStart(command)] as const;
    const change = this.#changeReaders.has(tenantKey(tenant)) ? changeOfStart(command) : null;
    for (const stream of streams) {
      stream.announce(news);
      if (change !== null) stream.change(change);
      if (stream.ended) this.leave(stream);
    }
  }

  /** Tells the readers of changes of one that has no event. */
  changed(tenant: Tenant, change: Change): void {
    if (!this.#changeReaders.has(tenantKey(tenant))) return;
    for (const stream of this.#eventStreams(tenantKey(tenant))) {
      stream.change(change);
      if (stream.ended) this.leave(stream);
    }
  }

  /** @throws {Fault} UNAVAILABLE, RATE_LIMIT_EXCEEDED when too many are open */
  mustHaveCapacity({ id, key, tenant }: Actor): void {
    if (this.#stopped || this.#open >= this.most) {
      throw new Fault("UNAVAILABLE", "Too many streams are open here. Try again later.");
    }
    const share = this.most * ORGANIZATION_SHARE;
    if (this.#openOf(tenant.org) >= share) {
      throw tooMany(share, { type: "organization", id: tenant.org });
    }
    if (key !== null) return;
    const streams = this.#byTenant.get(tenantKey(tenant)) ?? [];
    const own = [...streams].filter(({ actor }) => actor.id === id).length;
    if (own >= PER_PERSON_MAX) throw tooMany(PER_PERSON_MAX, { type: "user", id });
  }

  #openOf(org: string): number {
    const of = (space: Tenant["space"]) => this.#byTenant.get(tenantKey({ org, space }))?.size ?? 0;
    return of("live") + of("test");
  }

  /** Removes a stream whose client has disconnected or that has ended. */
  leave(stream: OpenStream): void {
    stream.left();
    const key = tenantKey(stream.actor.tenant);
    const streams = this.#byTenant.get(key);
    if (!streams?.delete(stream)) return;
    this.#open--;
    this.#countChangeReader(stream, -1);
    if (streams.size === 0) this.#byTenant.delete(key);
  }

  /** Checks every credential now, because rights may have changed. */
  recheck(): void {
    this.#rechecks++;
    const nowMs = this.relay.ports.clock.now();
    for (const stream of this.#all()) stream.nextCheckMs = Math.min(stream.nextCheckMs, nowMs);
    this.#checkInBackground();
  }

  /** Ends every stream, so that clients resume on another instance. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#pollTimer?.();
    for (const stream of this.#all()) this.#end(stream, "going_away");
  }

  async #startOf(tenant: Tenant, lastEventId: string | null) {
    const { log } = this.relay;
    await log.flush();
    const head = await log.head(tenant);
    if (lastEventId === null) return { from: head, head, recovered: false };
    const place = positionOf(lastEventId);
    if (place === null) {
      throw new Fault(
        "VALIDATION_FAILED",
        "Relay did not issue this event id. Send the id of a received event.",
        {
          issues: [{ path: "last_event_id", message: "must be <name>:<number>" }],
        },
      );
    }
    const kept = place.history === this.#historyOf(tenant) && place.seq <= head;
    const [next] = kept && place.seq < head ? await log.read(tenant, place.seq, 1) : [];
    const recovered = kept && (place.seq === head || next?.seq === place.seq + 1);
    return { from: recovered ? place.seq : head, head, recovered };
  }

  #historyOf(tenant: Tenant): string {
    return historyOf(this.relay.epoch, tenant);
  }

  #hello(tenant: Tenant, from: number, recovered: boolean): Message {
    const id = idOf(this.#historyOf(tenant), from);
    const json = JSON.stringify({ recovered, from: id, heartbeat_seconds: HEARTBEAT_SECONDS });
    return { kind: "hello", id, json };
  }

  #countChangeReader(stream: OpenStream, by: 1 | -1): void {
    if (!(stream instanceof Stream) || !stream.wantsChanges) return;
    const key = tenantKey(stream.actor.tenant);
    const readers = (this.#changeReaders.get(key) ?? 0) + by;
    if (readers === 0) this.#changeReaders.delete(key);
    else this.#changeReaders.set(key, readers);
  }

  #eventStreams(key: string): Stream[] {
    const streams = this.#byTenant.get(key) ?? [];
    return [...streams].filter((stream) => stream instanceof Stream);
  }

  #end(stream: OpenStream, name: StreamEnd): void {
    stream.end(name);
    this.leave(stream);
  }

  *#all(): Generator<OpenStream> {
    for (const streams of [...this.#byTenant.values()]) yield* [...streams];
  }

  #prepare(tenant: Tenant, events: readonly Sequenced[]) {
    const history = this.#historyOf(tenant);
    return events.map((event) => prepare(tenant, history, event));
  }

  #sequenced(tenant: Tenant, events: readonly Sequenced[]): void {
    const key = tenantKey(tenant);
    const streams = this.#byTenant.get(key);
    if (streams === undefined || events.length === 0) return;
    const changes = this.#changeReaders.has(key) ? changesIn(tenant, events) : NO_CHANGES;
    const news = new NewEvents(events[0]!.seq, this.#prepare(tenant, events), changes);
    for (const stream of streams) {
      if (!(stream instanceof Stream)) continue;
      stream.take(news);
      if (stream.ended) this.leave(stream);
    }
  }

  #sweepLater(): Cancel {
    return this.relay.ports.clock.after(SWEEP_MS, () => {
      this.#timer = null;
      this.#sinceHeartbeatMs += SWEEP_MS;
      if (this.#sinceHeartbeatMs >= HEARTBEAT_SECONDS * 1000) this.#heartbeat();
      this.#checkInBackground();
      if (this.#open > 0 && !this.#stopped) this.#timer = this.#sweepLater();
    });
  }

  #checkInBackground(): void {
    if (this.#checking) return;
    this.#checking = true;
    this.relay.background.run(
      "checking the credentials of streams",
      () => this.#checkCredentials().finally(() => this.#checking = false),
    );
  }

  #heartbeat(): void {
    this.#sinceHeartbeatMs = 0;
    for (const [key, streams] of [...this.#byTenant]) {
      const history = this.#historyOf(tenantOf(key));
      for (const stream of [...streams]) {
        if (stream.ended) this.leave(stream);
        else stream.beat(history);
      }
    }
  }

  /** Checks all credentials concurrently, so that a slow or failing one delays no other. */
  async #checkCredentials(): Promise<void> {
    const nowMs = this.relay.ports.clock.now();
    const byActor = Map.groupBy<unknown, OpenStream>(
      [...this.#all()].filter(({ nextCheckMs }) =>
        nowMs >= dueAt(nextCheckMs, CHECK_SHARED_MS, nowMs)
      ),
      ({ actor }) => actor.foreign ?? actor.sessionId ?? actor.key?.valueHash ?? actor.id,
    );
    const errors: unknown[] = [];
    await Promise.all(
      byActor.values().map((streams) =>
        this.#checkCredential(streams).catch((error) => {
          errors.push(error);
          this.#endUnchecked(streams);
        })
      ),
    );
    if (errors.length === 0) return;
    const fields = { credentials: errors.length, error: String(errors[0]) };
    this.relay.ports.log.warn("the credentials of streams could not be checked", fields);
  }

  /** Updates the rights of a holder's streams, and ends them when the credential has ended. */
  async #checkCredential(streams: readonly OpenStream[]): Promise<void> {
    const rechecks = this.#rechecks;
    const now = await this.relay.authenticator.current(streams[0]!.actor);
    for (const stream of streams) {
      if (now === null) this.#end(stream, "credential_ended");
      else if (!stream.mayRead(now)) this.#end(stream, "rights_lost");
      else stream.actor = { ...now, tenant: stream.actor.tenant };
      stream.checkedAtMs = this.relay.ports.clock.now();
      if (now !== null && !this.relay.store.sole && rechecks === this.#rechecks) {
        stream.nextCheckMs = nextCheckOf(now, stream.checkedAtMs);
      }
    }
  }

  #endUnchecked(streams: readonly OpenStream[]): void {
    const leastMs = this.relay.ports.clock.now() - UNCHECKED_MS;
    for (const stream of streams) {
      const dueMs = Math.max(stream.checkedAtMs, stream.nextCheckMs);
      if (dueMs < leastMs) this.#end(stream, "interrupted");
    }
  }

  #pollLater(): Cancel {
    return this.relay.ports.clock.after(POLL_MS, () => {
      this.#pollTimer = null;
      this.#catchUpInBackground(everyTenant);
      if (this.#open > 0 && !this.#stopped) this.#pollTimer = this.#pollLater();
    });
  }

  /** Reads once for all pulses that come while an earlier reading runs. */
  #catchUpInBackground(of: (tenant: Tenant) => boolean): void {
    if (this.#open === 0) return;
    this.#dueLogs.add(of);
    if (this.#catchingUp) return;
    this.#catchingUp = true;
    this.relay.background.run(
      "reading events of other instances",
      () =>
        this.#catchUp().catch((error) =>
          this.relay.ports.log.warn("events of other instances could not be read", {
            error: String(error),
          })
        ),
    );
  }

  /** Catches up with events that other instances sequenced. */
  async #catchUp(): Promise<void> {
    const { log } = this.relay;
    try {
      while (this.#dueLogs.size > 0) {
        const due = [...this.#dueLogs];
        this.#dueLogs.clear();
        for (const key of [...this.#byTenant.keys()]) {
          const streams = this.#eventStreams(key);
          if (streams.length === 0 || !due.some((of) => of(tenantOf(key)))) continue;
          const head = await log.head(tenantOf(key));
          for (const stream of streams) if (stream.position < head) stream.catchUp();
        }
      }
    } finally {
      this.#catchingUp = false;
    }
  }
}

const everyTenant = () => true;

const NO_CHANGES: readonly (readonly Change[])[] = [];

const tooMany = (limit: number, of: LimitHolder) =>
  limitReached(
    `At most ${limit} streams of one ${of.type} may be open at once. Close one first.`,
    { limit, scope: "streams", of, raise: null, retry_after: 1 },
  );
