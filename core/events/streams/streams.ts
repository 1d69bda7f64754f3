import { type Tenant, tenantKey, tenantOf } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import type { Actor, App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import type { Scope } from "../../work/scopes.ts";
import type { Cancel } from "../../ports/ports.ts";
import { WEBHOOK_EVENTS } from "../types/webhook_events.ts";
import type { StreamEnd } from "./ends.ts";
import { historyOf, idOf, isStreamed, type Message, placeOf, prepare } from "./message.ts";
import { type Sink, Stream, type StreamFilter } from "./stream.ts";

/** How often a client hears of the relay, and of its position in a log that is quiet for it. */
const HEARTBEAT_SECONDS = 15;
/** Credentials are looked at this often: a lost right is gone from open streams within a second. */
const SWEEP_MS = 500;
/** While a credential cannot be looked up, its streams go on this long. */
const UNCHECKED_MS = 10_000;
/** On a store that others write to, their events are looked for this often. */
const POLL_MS = 250;
const STREAMS_MAX = 20_000;
/** The part of them that one organization may have: its keys are many, and others come too. */
const ORGANIZATION_SHARE = 0.5;
/** A key has its open connections; a person has so many streams. */
const PER_PERSON_MAX = 50;

/** The open event streams of this process. */
export class Streams {
  readonly #byTenant = new Map<string, Set<Stream>>();
  #open = 0;
  #timer: Cancel | null = null;
  #pollTimer: Cancel | null = null;
  #sinceHeartbeatMs = 0;
  #checking: Promise<void> | null = null;
  #stopped = false;

  constructor(private readonly app: () => App, private readonly most = STREAMS_MAX) {}

  /** Listens to the log. */
  start(): void {
    const { log } = this.app();
    log.watch((type, tenant) => isStreamed(type) && this.#byTenant.has(tenantKey(tenant)));
    log.onSequenced((tenant, events) => this.#sequenced(tenant, events));
  }

  get size(): number {
    return this.#open;
  }

  /**
   * Opens a stream from a place in the log, or from its end. Its first message says whether everything
   * since that place will come.
   * @throws {Fault} UNAVAILABLE, RATE_LIMIT_EXCEEDED when too many are open, VALIDATION_FAILED for an id that
   * is none
   */
  async open(
    actor: Actor,
    filter: StreamFilter,
    lastEventId: string | null,
    sink: Sink,
  ): Promise<Stream> {
    const app = this.app();
    const { tenant } = actor;
    const { from, recovered } = await this.#startOf(tenant, lastEventId);
    this.mustHaveRoom(actor);
    const stream: Stream = new Stream(actor, app.ports.clock.now(), filter, sink, from, {
      log: app.log,
      prepare: (events) => this.#prepare(tenant, events),
      failed: (error) =>
        app.ports.log.error("a stream could not read the log", { error: String(error) }),
    });
    this.#add(stream);
    stream.say(this.#hello(tenant, from, recovered));
    stream.catchUp();
    return stream;
  }

  /** @throws {Fault} UNAVAILABLE, RATE_LIMIT_EXCEEDED when too many are open */
  mustHaveRoom({ id, key, tenant }: Actor): void {
    if (this.#stopped || this.#open >= this.most) {
      throw new Fault("UNAVAILABLE", "Too many streams are open here. Try again in a moment.");
    }
    const share = this.most * ORGANIZATION_SHARE;
    if (this.#openOf(tenant.org) >= share) throw tooMany(share, "organization");
    if (key !== null) return;
    const streams = this.#byTenant.get(tenantKey(tenant)) ?? [];
    const own = [...streams].filter(({ actor }) => actor.id === id).length;
    if (own >= PER_PERSON_MAX) throw tooMany(PER_PERSON_MAX, "person");
  }

  #openOf(org: string): number {
    const of = (space: Tenant["space"]) => this.#byTenant.get(tenantKey({ org, space }))?.size ?? 0;
    return of("live") + of("test");
  }

  /** A client has gone, or its stream has ended. */
  leave(stream: Stream): void {
    stream.left();
    const key = tenantKey(stream.actor.tenant);
    const streams = this.#byTenant.get(key);
    if (!streams?.delete(stream)) return;
    this.#open--;
    if (streams.size === 0) this.#byTenant.delete(key);
  }

  /** Ends every stream, so that clients go on elsewhere. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.();
    this.#pollTimer?.();
    for (const stream of this.#all()) this.#end(stream, "going_away");
  }

  async #startOf(tenant: Tenant, lastEventId: string | null) {
    const { log } = this.app();
    await log.flush();
    const head = await log.head(tenant);
    if (lastEventId === null) return { from: head, recovered: false };
    const place = placeOf(lastEventId);
    if (place === null) {
      throw new Fault("VALIDATION_FAILED", "The last event id is none of this relay's.", {
        issues: [{ path: "last_event_id", message: "must be <name>:<number>" }],
      });
    }
    const kept = place.history === this.#historyOf(tenant) && place.seq <= head;
    const [next] = kept && place.seq < head ? await log.read(tenant, place.seq, 1) : [];
    const recovered = kept && (place.seq === head || next?.seq === place.seq + 1);
    return { from: recovered ? place.seq : head, recovered };
  }

  #historyOf(tenant: Tenant): string {
    return historyOf(this.app().epoch, tenant);
  }

  #hello(tenant: Tenant, from: number, recovered: boolean): Message {
    const id = idOf(this.#historyOf(tenant), from);
    const json = JSON.stringify({ recovered, from: id, heartbeat_seconds: HEARTBEAT_SECONDS });
    return { kind: "hello", id, json };
  }

  #add(stream: Stream): void {
    const key = tenantKey(stream.actor.tenant);
    const streams = this.#byTenant.get(key) ?? new Set();
    this.#byTenant.set(key, streams.add(stream));
    this.#open++;
    this.#timer ??= this.#sweepLater();
    if (!this.app().store.sole) this.#pollTimer ??= this.#pollLater();
  }

  #end(stream: Stream, name: StreamEnd): void {
    stream.end(name);
    this.leave(stream);
  }

  *#all(): Generator<Stream> {
    for (const streams of [...this.#byTenant.values()]) yield* [...streams];
  }

  #prepare(tenant: Tenant, events: readonly Sequenced[]) {
    const history = this.#historyOf(tenant);
    return events.map((event) => prepare(tenant, history, event));
  }

  #sequenced(tenant: Tenant, events: readonly Sequenced[]): void {
    const streams = this.#byTenant.get(tenantKey(tenant));
    if (streams === undefined || events.length === 0) return;
    const prepared = this.#prepare(tenant, events);
    for (const stream of streams) {
      stream.take(events[0]!.seq, prepared);
      if (stream.ended) this.leave(stream);
    }
  }

  #sweepLater(): Cancel {
    return this.app().ports.clock.after(SWEEP_MS, () => {
      this.#timer = null;
      this.#sinceHeartbeatMs += SWEEP_MS;
      if (this.#sinceHeartbeatMs >= HEARTBEAT_SECONDS * 1000) this.#heartbeat();
      this.#checking ??= this.#checkCredentials().finally(() => this.#checking = null);
      if (this.#open > 0 && !this.#stopped) this.#timer = this.#sweepLater();
    });
  }

  #heartbeat(): void {
    this.#sinceHeartbeatMs = 0;
    for (const [key, streams] of [...this.#byTenant]) {
      const history = this.#historyOf(tenantOf(key));
      for (const stream of [...streams]) {
        if (stream.ended) this.leave(stream);
        else stream.beat({ kind: "heartbeat", id: idOf(history, stream.position), json: "{}" });
      }
    }
  }

  /** Looks at every credential at once: one that takes its time, or cannot be looked up, holds up no other. */
  async #checkCredentials(): Promise<void> {
    const byActor = Map.groupBy<unknown, Stream>(
      this.#all(),
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
    this.app().ports.log.warn("the credentials of streams could not be checked", fields);
  }

  /** Gives a holder's streams the rights of now, and ends them when the credential is gone. */
  async #checkCredential(streams: readonly Stream[]): Promise<void> {
    const now = await this.app().authenticator.current(streams[0]!.actor);
    for (const stream of streams) {
      if (now === null) this.#end(stream, "credential_ended");
      else if (!mayRead(now)) this.#end(stream, "rights_lost");
      else stream.actor = { ...now, tenant: stream.actor.tenant };
      stream.checkedAtMs = this.app().ports.clock.now();
    }
  }

  #endUnchecked(streams: readonly Stream[]): void {
    const leastMs = this.app().ports.clock.now() - UNCHECKED_MS;
    for (const stream of streams) {
      if (stream.checkedAtMs < leastMs) this.#end(stream, "interrupted");
    }
  }

  #pollLater(): Cancel {
    return this.app().ports.clock.after(POLL_MS, () => {
      this.#pollTimer = null;
      this.#poll().catch((error) => {
        this.app().ports.log.warn("others' events could not be read", { error: String(error) });
      }).finally(() => {
        if (this.#open > 0 && !this.#stopped) this.#pollTimer = this.#pollLater();
      });
    });
  }

  /** Events that another instance numbered. */
  async #poll(): Promise<void> {
    const { log } = this.app();
    for (const [key, streams] of [...this.#byTenant]) {
      const head = await log.head(tenantOf(key));
      for (const stream of streams) if (stream.position < head) stream.catchUp();
    }
  }
}

const tooMany = (limit: number, whose: string) =>
  new Fault(
    "RATE_LIMIT_EXCEEDED",
    `At most ${limit} streams of one ${whose} are open at a time. Close one.`,
    { limit, scope: "streams", retry_after: 1 },
  );

/** When clients should come again after the relay has stopped: not all at once. */
export const retryAfterMs = (app: App): number =>
  Math.round(1_000 + app.ports.entropy.unit() * 4_000);

/** The rights of which each opens some events. */
export const EVENT_RIGHTS: readonly Scope[] = [
  ...new Set(Object.values(WEBHOOK_EVENTS).map(({ scope }) => scope)),
];

/** True for who may read some events. */
export const mayRead = ({ rights }: Actor): boolean =>
  EVENT_RIGHTS.some((scope) => rights.has(scope));
