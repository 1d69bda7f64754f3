import { Buffer } from "node:buffer";
import type { Tenant } from "../../kv/store/collection.ts";
import { RecentMap } from "../../kv/store/recent.ts";
import { type McpSessionRecord, mcpSessions } from "../../kv/records/mcp_session.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Actor, RequestInfo } from "../identity/identity.ts";
import type { Context } from "../context/context.ts";
import { emit, RELAY_ACTOR } from "../events/events.ts";

/** A session ends after being idle for this long. */
const SESSION_IDLE_MS = 30 * 60 * 1000;
/** A call postpones its session's end only after this long, so that not every call is a write. */
const TOUCH_MS = 60 * 1000;
/** Killed clients leave sessions behind; beyond this number the caller's oldest ones end. */
const SESSIONS_MAX = 50;
/** Above the maximum, because concurrent callers may open more. */
const READ_MAX = 1_000;
const BATCH_MAX = 100;
/** Sessions whose uncounted calls are remembered. */
const KNOWN_MAX = 20_000;

/** What a client sends to open a session. */
export interface Opening {
  readonly client: McpSessionRecord["client"];
  readonly protocolVersion: string;
  readonly capabilities: Record<string, unknown>;
}

interface Caller {
  readonly actor: Actor;
  readonly info: RequestInfo;
}

/** What this process knows of a session beyond its record. */
interface Known {
  /** Calls that are not on record yet. */
  calls: number;
}

/** The settings that a session's client may change. */
type Changes = Partial<Pick<McpSessionRecord, "log_level" | "uris">>;

/**
 * Sessions of MCP clients. The store has every session; memory has only the calls that this process counted
 * since the session's last write.
 */
export class McpSessions {
  readonly #known = new RecentMap<Known>(KNOWN_MAX);
  #agedAtMs: number;

  constructor(private readonly context: Pick<Context, "store" | "ports" | "signals">) {
    this.#agedAtMs = context.ports.clock.now();
  }

  /** Opens a session for the caller. */
  async open(
    { actor, info }: Caller,
    { client, protocolVersion, capabilities }: Opening,
  ): Promise<McpSessionRecord> {
    const { store, ports, signals } = this.context;
    const now = ports.clock.now();
    const session: McpSessionRecord = {
      id: `mcs_${Buffer.from(ports.entropy.bytes(24)).toString("base64url")}`,
      actor: actor.id,
      client,
      protocol_version: protocolVersion,
      capabilities,
      log_level: null,
      uris: [],
      calls: 0,
      created_at_ms: now,
      idle_at_ms: now + SESSION_IDLE_MS,
    };
    await store.transact((tx) => {
      emit({ ports, signals, actor, request: info }, tx, actor.tenant, {
        type: "session_started",
        resource: { type: "mcp_session", id: session.id },
        details: { ...detailsOf(session), protocol_version: protocolVersion },
      });
      tx.insert(mcpSessions, actor.tenant, session);
    });
    await this.#endSurplus({ actor, info });
    return session;
  }

  /** The caller's open session of this id, and postpones its end; null when there is none. */
  async touch(actor: Actor, id: string): Promise<McpSessionRecord | null> {
    const { store, ports: { clock } } = this.context;
    const session = await store.get(mcpSessions, actor.tenant, id);
    const now = clock.now();
    if (session === null || session.actor !== actor.id || now >= session.idle_at_ms) return null;
    const known = this.#known.get(id);
    if (session.idle_at_ms - now > SESSION_IDLE_MS - TOUCH_MS) return session;
    return await store.transact(async (tx) => {
      const current = await tx.get(mcpSessions, actor.tenant, id);
      const calls = known?.calls ?? 0;
      tx.afterCommit(() => known && (known.calls -= calls));
      return current && tx.put(mcpSessions, actor.tenant, {
        ...current,
        calls: current.calls + calls,
        idle_at_ms: clock.now() + SESSION_IDLE_MS,
      });
    });
  }

  /** Stores what a client changed about its open session; null when the session is over. */
  async change(
    { tenant }: Actor,
    id: string,
    change: (session: McpSessionRecord) => Changes,
  ): Promise<McpSessionRecord | null> {
    const { signals, store } = this.context;
    return await store.transact(async (tx) => {
      const session = await tx.get(mcpSessions, tenant, id);
      tx.afterCommit(() => signals.mcpSessionChanged.send({ id }));
      return session && tx.put(mcpSessions, tenant, { ...session, ...change(session) });
    });
  }

  /** Calls counted in memory that are not on record; undefined for a session without any. */
  uncounted(id: string): number | undefined {
    return this.#known.get(id)?.calls;
  }

  /** Counts a tool call. */
  countCall(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined) this.#known.set(id, { calls: 1 });
    else known.calls++;
  }

  /** Ends a session of the caller; false when there is none. */
  async close({ actor, info }: Caller, id: string): Promise<boolean> {
    return await this.context.store.transact(async (tx) => {
      const session = await tx.get(mcpSessions, actor.tenant, id);
      if (session === null || session.actor !== actor.id) return false;
      this.#end({ actor, request: info }, tx, actor.tenant, session, "session_closed");
      return true;
    });
  }

  /** Ends the sessions that have been idle for too long. */
  async sweep(): Promise<void> {
    const { store, ports } = this.context;
    for (;;) {
      const before = [ports.clock.now() + 1];
      const due = await store.queued(mcpSessions, "idle", { limit: BATCH_MAX, before });
      for (const { tenant, record } of due.items) await this.#timeOut(tenant, record.id);
      if (due.items.length < BATCH_MAX) return this.#forgetUnused();
    }
  }

  /** Ends the caller's oldest sessions beyond the maximum. */
  async #endSurplus(caller: Caller): Promise<void> {
    const { store, ports } = this.context;
    const { actor } = caller;
    const own = { index: "actor", prefix: [actor.id], limit: READ_MAX };
    for (;;) {
      const { items } = await store.list(mcpSessions, actor.tenant, own);
      const oldestFirst = items.sort((a, b) => a.created_at_ms - b.created_at_ms);
      const surplus = oldestFirst.slice(0, -SESSIONS_MAX);
      if (surplus.length === 0) return;
      // A random one, so that concurrent openers end different sessions.
      const { id } = surplus[Math.floor(ports.entropy.unit() * surplus.length)]!;
      await this.close(caller, id);
    }
  }

  async #timeOut(tenant: Tenant, id: string): Promise<void> {
    const { store, ports } = this.context;
    await store.transact(async (tx) => {
      const session = await tx.get(mcpSessions, tenant, id);
      if (session === null || ports.clock.now() < session.idle_at_ms) return;
      this.#end({ actor: RELAY_ACTOR }, tx, tenant, session, "session_timeout");
    });
  }

  #end(
    by: { readonly actor: Pick<Actor, "id">; readonly request?: RequestInfo },
    tx: Tx,
    tenant: Tenant,
    session: McpSessionRecord,
    type: "session_closed" | "session_timeout",
  ): void {
    const { ports, signals } = this.context;
    tx.delete(mcpSessions, tenant, session.id);
    tx.afterCommit(() => {
      this.#known.delete(session.id);
      signals.mcpSessionChanged.send({ id: session.id });
    });
    emit({ ports, signals, ...by }, tx, tenant, {
      type,
      resource: { type: "mcp_session", id: session.id },
      details: {
        ...detailsOf(session),
        // Not negative where the clock was set back meanwhile.
        duration_ms: Math.max(0, ports.clock.now() - session.created_at_ms),
        calls: session.calls + (this.uncounted(session.id) ?? 0),
        ...(type === "session_timeout" && { idle_seconds: SESSION_IDLE_MS / 1000 }),
      },
    });
  }

  /** Forgets sessions that went unused here for as long as one lives: another instance may have ended them. */
  #forgetUnused(): void {
    const now = this.context.ports.clock.now();
    if (now - this.#agedAtMs < SESSION_IDLE_MS) return;
    this.#agedAtMs = now;
    this.#known.age();
  }
}

const detailsOf = ({ id, client, actor }: McpSessionRecord) => ({
  session_id: id,
  client,
  user: actor,
});
