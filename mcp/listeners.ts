import type { Relay } from "../core/start.ts";
import type { Actor } from "../core/work/work.ts";
import type { EventRow } from "../core/events/events.ts";
import { Fault } from "../core/fault/fault.ts";
import type { Sequenced } from "../kv/log/log.ts";
import type { McpSessionRecord } from "../kv/records/mcp_session.ts";
import { tenantKey, tenantOf } from "../kv/store/collection.ts";
import type { Params } from "./rpc.ts";

/** With the time that looking takes, a lost right is gone from open streams within a second. */
const CHECK_MS = 500;
/** Events that are read at once. */
const PAGE = 1_000;
const LISTENERS_MAX = 5_000;
/** The part of them that one organization may have. */
const ORGANIZATION_SHARE = 0.5;
const PER_ACTOR_MAX = 10;

/** Somebody who wants to hear of changes. */
export interface Listener {
  /** Who it is, as last found out. */
  actor: Actor;
  /** The session whose stream it is, as last found out; null for one that stands for itself. */
  session: McpSessionRecord | null;
  readonly identifyAgain: () => Promise<Actor>;
  /** Whether it wants to hear that what an address shows has changed, and may. */
  readonly wantsResource: (actor: Actor, uri: string) => boolean;
  readonly wantsList: (list: ListName) => boolean;
  /** Tells how a task stands now, if it is one of those that it wants to hear of. */
  readonly tellTask: ((id: string) => void) | null;
  /** False when it does not keep up. */
  readonly notify: (method: string, params: Params) => boolean;
  readonly end: () => void;
}

export type ListName = "tools" | "prompts" | "resources";

/** Everybody who listens here: they hear only what they may read now. */
export class Listeners {
  readonly #all = new Set<Listener>();
  /** Those whose caller is being looked up: while the store stalls they must not become more and more. */
  readonly #checking = new Set<Listener>();
  /** On a store that others write to: the last event of each tenant's that was told. */
  readonly #told = new Map<string, number>();
  #polling = false;
  readonly #relay: Relay;
  #timer: (() => void) | null = null;
  #unfollow: (() => void) | null = null;

  constructor(relay: Relay, private readonly most = LISTENERS_MAX) {
    this.#relay = relay;
  }

  /**
   * Begins to tell what happens from now on; right before, `begin` is called.
   * @throws {Fault} RATE_LIMIT_EXCEEDED when too many listen
   */
  async add(listener: Listener, begin: () => void = () => {}): Promise<() => void> {
    const { log, store } = this.#relay;
    const { tenant } = listener.actor;
    if (!store.sole) {
      await log.flush();
      const head = await log.head(tenant);
      if (!this.#told.has(tenantKey(tenant))) this.#told.set(tenantKey(tenant), head);
    }
    this.#mustHaveRoom(listener.actor);
    begin();
    this.#all.add(listener);
    if (store.sole) {
      this.#unfollow ??= log.onSequenced((tenant, events) => this.#tell(tenantKey(tenant), events));
    }
    this.#timer ??= this.#checkLater();
    return () => this.#remove(listener);
  }

  /** @throws {Fault} RATE_LIMIT_EXCEEDED */
  #mustHaveRoom({ id, tenant: { org } }: Actor): void {
    const refuse = (limit: number, whose: string) => {
      const message = `At most ${limit} streams ${whose} listen at a time. Close one.`;
      throw new Fault("RATE_LIMIT_EXCEEDED", message, { limit, scope: "streams" });
    };
    const count = (is: (actor: Actor) => boolean) =>
      [...this.#all].filter(({ actor }) => is(actor)).length;
    const share = this.most * ORGANIZATION_SHARE;
    if (this.#all.size >= this.most) refuse(this.most, "of all callers");
    if (count(({ tenant }) => tenant.org === org) >= share) refuse(share, "of one organization");
    if (count((actor) => actor.id === id) >= PER_ACTOR_MAX) refuse(PER_ACTOR_MAX, "of one caller");
  }

  /** A list has changed, for everybody. */
  listChanged(list: ListName): void {
    for (const listener of hearersOf(this.#all)) this.#tellList(listener, list);
  }

  /** The client of a session wants something else. */
  sessionChanged(session: McpSessionRecord): void {
    for (const listener of this.#all) {
      if (listener.session?.id === session.id) listener.session = session;
    }
  }

  /** Ends every stream: the relay stops. */
  close(): void {
    for (const listener of this.#all) this.#end(listener);
  }

  #tell(tenant: string, events: readonly Sequenced[]): void {
    const listeners = hearersOf(this.#all).filter(({ actor }) =>
      tenantKey(actor.tenant) === tenant
    );
    if (listeners.length === 0) return;
    const uris = new Set(events.flatMap((event) => resourcesOf(event)));
    const tasks = listeners.some(({ tellTask }) => tellTask !== null) ? tasksOf(events) : [];
    for (const listener of listeners) {
      for (const id of tasks) listener.tellTask?.(id);
      for (const uri of uris) {
        if (!listener.wantsResource(listener.actor, uri)) continue;
        if (!listener.notify("notifications/resources/updated", { uri })) this.#end(listener);
      }
    }
  }

  #tellList(listener: Listener, list: ListName): void {
    if (!listener.wantsList(list)) return;
    if (!listener.notify(`notifications/${list}/list_changed`, {})) this.#end(listener);
  }

  #end(listener: Listener): void {
    this.#remove(listener);
    listener.end();
  }

  #remove(listener: Listener): void {
    this.#all.delete(listener);
    if (this.#all.size > 0) return;
    this.#timer?.();
    this.#timer = null;
    this.#unfollow?.();
    this.#unfollow = null;
    this.#told.clear();
  }

  /** What happened since, whichever instance did it. */
  async #poll(): Promise<void> {
    const { log } = this.#relay;
    for (const [key, told] of [...this.#told]) {
      const tenant = tenantOf(key);
      if (![...this.#all].some(({ actor }) => tenantKey(actor.tenant) === key)) {
        this.#told.delete(key);
        continue;
      }
      if (await log.head(tenant) <= told) continue;
      const events = await log.read(tenant, told, PAGE);
      if (!this.#told.has(key)) continue;
      this.#told.set(key, events.at(-1)?.seq ?? told);
      this.#tell(key, events);
    }
  }

  #pollOnce(): void {
    if (this.#polling || this.#relay.store.sole) return;
    this.#polling = true;
    this.#poll().catch((error) => {
      this.#relay.ports.log.warn("others' events could not be read", { error: String(error) });
    }).finally(() => this.#polling = false);
  }

  #checkLater(): () => void {
    return this.#relay.ports.clock.after(CHECK_MS, () => {
      for (const listener of this.#all) this.#check(listener);
      this.#pollOnce();
      this.#timer = this.#all.size === 0 ? null : this.#checkLater();
    });
  }

  /** Who has lost the credential hears no more; who has other rights has other tools. */
  async #check(listener: Listener): Promise<void> {
    if (this.#checking.has(listener)) return;
    this.#checking.add(listener);
    try {
      const before = listener.actor;
      listener.actor = await listener.identifyAgain();
      if (!sameRights(before, listener.actor) && hearersOf(this.#all).includes(listener)) {
        this.#tellList(listener, "tools");
        this.#tellList(listener, "resources");
      }
    } catch (error) {
      if (!(error instanceof Fault)) {
        this.#relay.ports.log.warn("a listener could not be checked", { error: String(error) });
      }
      this.#end(listener);
    } finally {
      this.#checking.delete(listener);
    }
  }
}

/** Those who are told: of several streams of one session the newest, as a message goes out on one only. */
const hearersOf = (listeners: Iterable<Listener>): Listener[] => [
  ...new Map(
    [...listeners].map((listener) => [listener.session?.id ?? listener, listener] as const),
  ).values(),
];

/** Rows that say that somebody looked, and change nothing. */
const isLook = (type: string) => type === "api_key_used" || type === "audit_read";

const sameRights = (a: Actor, b: Actor) =>
  a.rights.size === b.rights.size && [...a.rights].every((right) => b.rights.has(right));

/** The commands that something happened to. */
function tasksOf(events: readonly Sequenced[]): string[] {
  const told = events.filter(({ type }) => type !== "api_key_used");
  const ids = told.map(({ json }) => (JSON.parse(json) as EventRow).details.command_id);
  return [...new Set(ids.filter((id): id is string => typeof id === "string"))];
}

/** The resources that show an event, or what it changed. */
function resourcesOf({ type, json }: Sequenced): string[] {
  // A reader who is told to read again by its own reading would never stop.
  if (isLook(type)) return [];
  const always = ["relay://events", "relay://audit"];
  const kind = type.startsWith("agent_")
    ? "agents"
    : type.startsWith("approval_")
    ? "approvals"
    : type.startsWith("policy_") && type !== "policy_confirmed"
    ? "policies"
    : null;
  if (kind === null) return always;
  const { agent_id, resource_id } = JSON.parse(json) as EventRow;
  const id = kind === "agents" ? agent_id ?? resource_id : resource_id;
  return [...always, `relay://${kind}`, `relay://${kind}/${id}`];
}
