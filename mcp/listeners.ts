import { Fault, type LimitHolder, limitReached } from "../core/fault/fault.ts";
import type { Actor } from "../core/identity/identity.ts";
import type { Context } from "../core/context/context.ts";
import type { Sequenced } from "../kv/log/log.ts";
import type { McpSessionRecord } from "../kv/records/mcp_session.ts";
import { type Tenant, tenantKey, tenantOf } from "../kv/store/collection.ts";
import { changedCommands, changedResources } from "./changes.ts";
import type { Params } from "./json_rpc.ts";
import type { Rechecks } from "./rechecks.ts";

/** How often a shared store is read for other instances' events, in case a pulse was missed. */
const POLL_MS = 5_000;
/** The most events that are read at once. */
const EVENTS_MAX = 1_000;
const LISTENERS_MAX = 5_000;
/** The share of all listeners that one organization may have. */
const ORGANIZATION_SHARE = 0.5;
const PER_ACTOR_MAX = 10;

/** An open stream that gets notifications. */
export interface Listener {
  /** The caller, as last authenticated. */
  actor: Actor;
  /** The session that the stream belongs to, as last read; null for `subscriptions/listen`. */
  session: McpSessionRecord | null;
  readonly identifyAgain: () => Promise<Actor>;
  /** True when it subscribes to a resource that the caller may read. */
  readonly wantsResource: (actor: Actor, uri: string) => boolean;
  readonly wantsList: (list: ListName) => boolean;
  /** Called with the id of a task that may have changed; null when it follows no tasks. */
  readonly taskChanged: ((id: string) => void) | null;
  /** False when the client does not keep up. */
  readonly notify: (method: string, params: Params) => boolean;
  readonly end: () => void;
}

export type ListName = "tools" | "prompts" | "resources";

/**
 * The open notification streams of this instance. Each gets what its caller may read now. Memory is enough: a
 * stream lives in one process, and events of other instances are read from the log.
 */
export class Listeners {
  /** The open listeners, and how their callers' checks stop. */
  readonly #all = new Map<Listener, () => void>();
  /** Where other processes write to the store: the last event sent, by tenant. */
  readonly #sentSeq = new Map<string, number>();
  /** Which tenants' logs are read next. */
  readonly #dueLogs = new Set<(tenant: Tenant) => boolean>();
  #reading = false;
  #timer: (() => void) | null = null;
  #unfollow: (() => void) | null = null;

  constructor(
    private readonly context: Pick<Context, "store" | "log" | "ports" | "signals">,
    private readonly rechecks: Rechecks,
    private readonly most = LISTENERS_MAX,
  ) {
    context.log.onPulse((of) => this.#readSoon(of));
    context.signals.mcpSessionChangedElsewhere.on(({ id }) => {
      for (const listener of this.#all.keys()) {
        if (listener.session?.id === id) this.#check(listener);
      }
    });
  }

  /**
   * Notifies a listener of what happens from now on. `begin` is called right before the first notification.
   * @throws {Fault} RATE_LIMIT_EXCEEDED when too many listen
   */
  async add(listener: Listener, begin: () => void = () => {}): Promise<() => void> {
    const { log, store } = this.context;
    const { tenant } = listener.actor;
    if (!store.sole) {
      await log.flush();
      const head = await log.head(tenant);
      if (!this.#sentSeq.has(tenantKey(tenant))) this.#sentSeq.set(tenantKey(tenant), head);
    }
    this.#mustBeWithinLimits(listener.actor);
    begin();
    this.#all.set(listener, this.rechecks.add(() => this.#check(listener)));
    if (store.sole) {
      this.#unfollow ??= log.onSequenced((tenant, events) =>
        this.#notify(tenantKey(tenant), events)
      );
    } else this.#timer ??= this.#pollLater();
    return () => this.#remove(listener);
  }

  /** @throws {Fault} RATE_LIMIT_EXCEEDED */
  #mustBeWithinLimits({ id, kind, tenant: { org } }: Actor): void {
    const count = (is: (actor: Actor) => boolean) =>
      [...this.#all.keys()].filter(({ actor }) => is(actor)).length;
    const share = this.most * ORGANIZATION_SHARE;
    if (this.#all.size >= this.most) {
      throw tooMany(this.most, "of all callers", { type: "instance", id: null });
    }
    if (count(({ tenant }) => tenant.org === org) >= share) {
      throw tooMany(share, "of one organization", { type: "organization", id: org });
    }
    if (count((actor) => actor.id === id) >= PER_ACTOR_MAX) {
      const type = kind === "api_key" ? "api_key" : "user";
      throw tooMany(PER_ACTOR_MAX, "of one caller", { type, id });
    }
  }

  /** Notifies everybody that a list has changed. */
  listChanged(list: ListName): void {
    for (const listener of receiversOf(this.#all.keys())) this.#notifyList(listener, list);
  }

  /** Puts a session's change into effect on its streams. */
  sessionChanged(session: McpSessionRecord): void {
    for (const listener of this.#all.keys()) {
      if (listener.session?.id === session.id) listener.session = session;
    }
  }

  /** Ends every stream, because the relay stops. */
  close(): void {
    for (const listener of this.#all.keys()) this.#end(listener);
  }

  #notify(tenant: string, events: readonly Sequenced[]): void {
    const listeners = receiversOf(this.#all.keys()).filter(({ actor }) =>
      tenantKey(actor.tenant) === tenant
    );
    if (listeners.length === 0) return;
    const uris = new Set(events.flatMap(changedResources));
    const follows = listeners.some(({ taskChanged }) => taskChanged !== null);
    const tasks = follows ? changedCommands(events) : [];
    for (const listener of listeners) {
      for (const id of tasks) listener.taskChanged?.(id);
      for (const uri of uris) {
        if (!listener.wantsResource(listener.actor, uri)) continue;
        if (!listener.notify("notifications/resources/updated", { uri })) this.#end(listener);
      }
    }
  }

  #notifyList(listener: Listener, list: ListName): void {
    if (!listener.wantsList(list)) return;
    if (!listener.notify(`notifications/${list}/list_changed`, {})) this.#end(listener);
  }

  #end(listener: Listener): void {
    this.#remove(listener);
    listener.end();
  }

  #remove(listener: Listener): void {
    this.#all.get(listener)?.();
    this.#all.delete(listener);
    if (this.#all.size > 0) return;
    this.#timer?.();
    this.#timer = null;
    this.#unfollow?.();
    this.#unfollow = null;
    this.#sentSeq.clear();
  }

  #pollLater(): () => void {
    return this.context.ports.clock.after(POLL_MS, () => {
      this.#timer = this.#pollLater();
      this.#readSoon(everyTenant);
    });
  }

  /** Reads once for all pulses that come while an earlier reading runs. */
  #readSoon(of: (tenant: Tenant) => boolean): void {
    if (this.context.store.sole || this.#all.size === 0) return;
    this.#dueLogs.add(of);
    if (this.#reading) return;
    this.#reading = true;
    this.#readDue().catch((error) => {
      const { log } = this.context.ports;
      log.warn("events of other instances could not be read", { error: String(error) });
    }).finally(() => this.#reading = false);
  }

  async #readDue(): Promise<void> {
    while (this.#dueLogs.size > 0) {
      const due = [...this.#dueLogs];
      this.#dueLogs.clear();
      for (const [key, sent] of [...this.#sentSeq]) {
        if (due.some((of) => of(tenantOf(key)))) await this.#read(key, sent);
      }
    }
  }

  /** Notifies of the events that any instance wrote after number `sent`. */
  async #read(key: string, sent: number): Promise<void> {
    const { log } = this.context, tenant = tenantOf(key);
    if (![...this.#all.keys()].some(({ actor }) => tenantKey(actor.tenant) === key)) {
      this.#sentSeq.delete(key);
      return;
    }
    if (await log.head(tenant) <= sent) return;
    const events = await log.read(tenant, sent, EVENTS_MAX);
    if (!this.#sentSeq.has(key)) return;
    this.#sentSeq.set(key, events.at(-1)?.seq ?? sent);
    if (events.length === EVENTS_MAX) this.#dueLogs.add(everyTenant);
    this.#notify(key, events);
  }

  /** Ends the stream of a caller without a valid credential; other rights mean other tools and resources. */
  async #check(listener: Listener): Promise<Actor | null> {
    try {
      const before = listener.actor;
      listener.actor = await listener.identifyAgain();
      if (!sameRights(before, listener.actor) && receiversOf(this.#all.keys()).includes(listener)) {
        this.#notifyList(listener, "tools");
        this.#notifyList(listener, "resources");
      }
      return listener.actor;
    } catch (error) {
      if (!(error instanceof Fault)) {
        const { log } = this.context.ports;
        log.warn("a listener could not be checked", { error: String(error) });
      }
      this.#end(listener);
      return null;
    }
  }
}

const everyTenant = () => true;

/** The listeners that get a message: of several streams of one session only the newest. */
const receiversOf = (listeners: Iterable<Listener>): Listener[] => [
  ...new Map(
    [...listeners].map((listener) => [listener.session?.id ?? listener, listener] as const),
  ).values(),
];

const sameRights = (a: Actor, b: Actor) =>
  a.rights.size === b.rights.size && [...a.rights].every((right) => b.rights.has(right));

const tooMany = (limit: number, whose: string, of: LimitHolder): Fault =>
  limitReached(`At most ${limit} streams ${whose} may be open at once. Close one first.`, {
    limit,
    scope: "streams",
    of,
    raise: null,
    retry_after: 1,
  });
