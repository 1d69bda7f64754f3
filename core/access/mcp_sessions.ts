import { Buffer } from "node:buffer";
import type { Tenant } from "../../kv/store/collection.ts";
import { RecentMap } from "../../kv/store/recent.ts";
import { type McpSessionRecord, mcpSessions } from "../../kv/records/mcp_session.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Actor, App, RequestInfo } from "../work/work.ts";
import { emit, RELAY_ACTOR } from "../events/events.ts";

/** A session in which nothing happens for this long ends. */
const SESSION_IDLE_MS = 30 * 60 * 1000;
/** A call moves the end of its session on only when it is nearer by this much: not each call is a write. */
const TOUCH_MS = 60 * 1000;
/** Clients that are killed leave sessions behind: beyond these the oldest ones end. */
const SESSIONS_MAX = 50;
/** Sessions that are read at once: what there can be, and those opened meanwhile. */
const READ_MAX = 1_000;
const BATCH_MAX = 100;
/** Of so many sessions it is known what is not on record. */
const KNOWN_MAX = 20_000;

/** What a client says when it opens a session. */
export interface Opening {
  readonly client: McpSessionRecord["client"];
  readonly protocolVersion: string;
  readonly capabilities: Record<string, unknown>;
}

type Caller = { readonly app: App; readonly actor: Actor; readonly info: RequestInfo };

/** What this process knows of a session beside its record, until the session ends. */
interface Known {
  /** Calls that are not on record yet. */
  calls: number;
}

interface Memory {
  readonly sessions: RecentMap<Known>;
  agedAtMs: number;
}

const memories = new WeakMap<App, Memory>();

function memoryOf(app: App): Memory {
  let memory = memories.get(app);
  if (memory === undefined) {
    memory = { sessions: new RecentMap(KNOWN_MAX), agedAtMs: app.ports.clock.now() };
    memories.set(app, memory);
  }
  return memory;
}

/** What is known of a session, if anything is. */
export const recall = (app: App, id: string): Known | undefined => memoryOf(app).sessions.get(id);

/** Forgets sessions that were not used here for as long as one lives: another instance ends them unseen. */
function forgetUnused(app: App): void {
  const memory = memoryOf(app);
  const now = app.ports.clock.now();
  if (now - memory.agedAtMs < SESSION_IDLE_MS) return;
  memory.agedAtMs = now;
  memory.sessions.age();
}

/** Opens a session of the caller's. */
export async function openSession(
  caller: Caller,
  { client, protocolVersion, capabilities }: Opening,
): Promise<McpSessionRecord> {
  const { app, actor, info } = caller;
  const { clock, entropy } = app.ports;
  const now = clock.now();
  const session: McpSessionRecord = {
    id: `mcs_${Buffer.from(entropy.bytes(24)).toString("base64url")}`,
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
  await app.store.transact((tx) => {
    emit({ ports: app.ports, signals: app.signals, actor, request: info }, tx, actor.tenant, {
      type: "session_started",
      resource: { type: "mcp_session", id: session.id },
      details: { ...detailsOf(session), protocol_version: protocolVersion },
    });
    tx.insert(mcpSessions, actor.tenant, session);
  });
  await endBeyond(caller);
  return session;
}

/** Ends a caller's oldest sessions beyond those that may be open: each who opened one looks after that. */
async function endBeyond(caller: Caller): Promise<void> {
  const { app, actor } = caller;
  const own = { index: "actor", prefix: [actor.id], limit: READ_MAX };
  for (;;) {
    const { items } = await app.store.list(mcpSessions, actor.tenant, own);
    const oldestFirst = items.sort((a, b) => a.created_at_ms - b.created_at_ms);
    const surplus = oldestFirst.slice(0, -SESSIONS_MAX);
    if (surplus.length === 0) return;
    // Of many who do this at once each ends another one.
    const { id } = surplus[Math.floor(app.ports.entropy.unit() * surplus.length)]!;
    await closeSession(caller, id);
  }
}

/** The caller's open session of this id, which lives on by this; null when there is none. */
export async function touchSession(
  { app, actor }: Pick<Caller, "app" | "actor">,
  id: string,
): Promise<McpSessionRecord | null> {
  const session = await app.store.get(mcpSessions, actor.tenant, id);
  const now = app.ports.clock.now();
  if (session === null || session.actor !== actor.id || now >= session.idle_at_ms) return null;
  const known = recall(app, id);
  if (session.idle_at_ms - now > SESSION_IDLE_MS - TOUCH_MS) return session;
  return await app.store.transact(async (tx) => {
    const current = await tx.get(mcpSessions, actor.tenant, id);
    const calls = known?.calls ?? 0;
    tx.afterCommit(() => known && (known.calls -= calls));
    return current && tx.put(mcpSessions, actor.tenant, {
      ...current,
      calls: current.calls + calls,
      idle_at_ms: app.ports.clock.now() + SESSION_IDLE_MS,
    });
  });
}

/** What a session's client may change of it. */
type Wishes = Pick<McpSessionRecord, "log_level" | "uris">;

/** Changes what a client wants of its open session, on record, so it holds for every process; null when it is over. */
export async function changeSession(
  { app, actor }: Pick<Caller, "app" | "actor">,
  id: string,
  change: (session: McpSessionRecord) => Partial<Wishes>,
): Promise<McpSessionRecord | null> {
  return await app.store.transact(async (tx) => {
    const session = await tx.get(mcpSessions, actor.tenant, id);
    return session && tx.put(mcpSessions, actor.tenant, { ...session, ...change(session) });
  });
}

/** A tool was called in a session. */
export function countCall(app: App, id: string): void {
  const { sessions } = memoryOf(app);
  const known = sessions.get(id);
  if (known === undefined) sessions.set(id, { calls: 1 });
  else known.calls++;
}

/** Ends a session of the caller's; false when there is none. */
export async function closeSession({ app, actor, info }: Caller, id: string): Promise<boolean> {
  return await app.store.transact(async (tx) => {
    const session = await tx.get(mcpSessions, actor.tenant, id);
    if (session === null || session.actor !== actor.id) return false;
    endIn(
      app,
      { ...app, actor, request: info },
      tx,
      actor.tenant,
      session,
      "session_closed",
    );
    return true;
  });
}

/** Ends the sessions in which nothing has happened for long. */
export async function sweepSessions(app: App): Promise<void> {
  for (;;) {
    const before = [app.ports.clock.now() + 1];
    const due = await app.store.queued(mcpSessions, "idle", { limit: BATCH_MAX, before });
    for (const { tenant, record } of due.items) await timeOut(app, tenant, record.id);
    if (due.items.length < BATCH_MAX) return forgetUnused(app);
  }
}

async function timeOut(app: App, tenant: Tenant, id: string): Promise<void> {
  await app.store.transact(async (tx) => {
    const session = await tx.get(mcpSessions, tenant, id);
    if (session === null || app.ports.clock.now() < session.idle_at_ms) return;
    endIn(
      app,
      { ...app, actor: RELAY_ACTOR },
      tx,
      tenant,
      session,
      "session_timeout",
    );
  });
}

/** Ends a session; with it goes what is known of it here. */
function endIn(
  app: App,
  work: Parameters<typeof emit>[0],
  tx: Tx,
  tenant: Tenant,
  session: McpSessionRecord,
  type: "session_closed" | "session_timeout",
): void {
  tx.delete(mcpSessions, tenant, session.id);
  tx.afterCommit(() => memoryOf(app).sessions.delete(session.id));
  emit(work, tx, tenant, {
    type,
    resource: { type: "mcp_session", id: session.id },
    details: {
      ...detailsOf(session),
      // Not less than none where the clock was set back meanwhile.
      duration_ms: Math.max(0, app.ports.clock.now() - session.created_at_ms),
      calls: session.calls + (recall(app, session.id)?.calls ?? 0),
      ...(type === "session_timeout" && { idle_seconds: SESSION_IDLE_MS / 1000 }),
    },
  });
}

const detailsOf = ({ id, client, actor }: McpSessionRecord) => ({
  session_id: id,
  client,
  user: actor,
});
