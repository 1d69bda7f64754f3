import { Buffer } from "node:buffer";
import type { Tenant } from "../kv/collection.ts";
import { type McpSessionRecord, mcpSessions } from "../kv/records/mcp_session.ts";
import type { Tx } from "../kv/tx.ts";
import type { Actor, App, RequestInfo } from "./app.ts";
import { emit, RELAY_ACTOR } from "./events.ts";

/** A session in which nothing happens for this long ends. */
const SESSION_IDLE_MS = 30 * 60 * 1000;
/** A call moves the end of its session on only when it is nearer by this much: not each call is a write. */
const TOUCH_MS = 60 * 1000;
/** Clients that are killed leave sessions behind: beyond these the oldest one ends. */
const SESSIONS_MAX = 50;
const BATCH_MAX = 100;

/** What a client says when it opens a session. */
export interface Opening {
  readonly client: McpSessionRecord["client"];
  readonly protocolVersion: string;
  readonly capabilities: Record<string, unknown>;
}

type Caller = { readonly app: App; readonly actor: Actor; readonly info: RequestInfo };

/** Calls that are not on record yet, by session. */
const unrecorded = new WeakMap<App, Map<string, number>>();

/** Opens a session of the caller's. */
export async function openSession(
  { app, actor, info }: Caller,
  { client, protocolVersion, capabilities }: Opening,
): Promise<McpSessionRecord> {
  const { clock, entropy } = app.ports;
  const now = clock.now();
  const open = await app.store.list(mcpSessions, actor.tenant, {
    index: "actor",
    prefix: [actor.id],
    limit: SESSIONS_MAX,
  });
  const work = { app, actor, request: info };
  const session: McpSessionRecord = {
    id: `mcs_${Buffer.from(entropy.bytes(24)).toString("base64url")}`,
    actor: actor.id,
    client,
    protocol_version: protocolVersion,
    capabilities,
    calls: 0,
    created_at_ms: now,
    idle_at_ms: now + SESSION_IDLE_MS,
  };
  return await app.store.transact(async (tx) => {
    const oldest = open.items.length < SESSIONS_MAX
      ? null
      : open.items.reduce((a, b) => a.created_at_ms <= b.created_at_ms ? a : b);
    const stillOpen = oldest && await tx.get(mcpSessions, actor.tenant, oldest.id);
    if (stillOpen) endIn(work, tx, actor.tenant, stillOpen, "session_closed");
    emit(work, tx, actor.tenant, {
      type: "session_started",
      resource: { type: "mcp_session", id: session.id },
      details: { ...detailsOf(session), protocol_version: protocolVersion },
    });
    return tx.insert(mcpSessions, actor.tenant, session);
  });
}

/** The caller's open session of this id, which lives on by this; null when there is none. */
export async function touchSession(
  { app, actor }: Pick<Caller, "app" | "actor">,
  id: string,
): Promise<McpSessionRecord | null> {
  const session = await app.store.get(mcpSessions, actor.tenant, id);
  const now = app.ports.clock.now();
  if (session === null || session.actor !== actor.id || now >= session.idle_at_ms) return null;
  if (session.idle_at_ms - now > SESSION_IDLE_MS - TOUCH_MS) return session;
  const calls = takeCalls(app, id);
  return await app.store.transact(async (tx) => {
    const current = await tx.get(mcpSessions, actor.tenant, id);
    return current && tx.put(mcpSessions, actor.tenant, {
      ...current,
      calls: current.calls + calls,
      idle_at_ms: app.ports.clock.now() + SESSION_IDLE_MS,
    });
  });
}

/** A tool was called in a session. */
export function countCall(app: App, id: string): void {
  let counts = unrecorded.get(app);
  if (counts === undefined) unrecorded.set(app, counts = new Map());
  counts.set(id, (counts.get(id) ?? 0) + 1);
}

/** Ends a session of the caller's; false when there is none. */
export async function closeSession({ app, actor, info }: Caller, id: string): Promise<boolean> {
  const calls = takeCalls(app, id);
  return await app.store.transact(async (tx) => {
    const session = await tx.get(mcpSessions, actor.tenant, id);
    if (session === null || session.actor !== actor.id) return false;
    const ended = { ...session, calls: session.calls + calls };
    endIn({ app, actor, request: info }, tx, actor.tenant, ended, "session_closed");
    return true;
  });
}

/** Ends the sessions in which nothing has happened for long. */
export async function sweepSessions(app: App): Promise<void> {
  for (;;) {
    const before = [app.ports.clock.now() + 1];
    const due = await app.store.queued(mcpSessions, "idle", { limit: BATCH_MAX, before });
    for (const { tenant, record } of due.items) await timeOut(app, tenant, record.id);
    if (due.items.length < BATCH_MAX) return;
  }
}

async function timeOut(app: App, tenant: Tenant, id: string): Promise<void> {
  const calls = takeCalls(app, id);
  await app.store.transact(async (tx) => {
    const session = await tx.get(mcpSessions, tenant, id);
    if (session === null || app.ports.clock.now() < session.idle_at_ms) return;
    const ended = { ...session, calls: session.calls + calls };
    endIn({ app, actor: RELAY_ACTOR }, tx, tenant, ended, "session_timeout");
  });
}

function endIn(
  work: Parameters<typeof emit>[0],
  tx: Tx,
  tenant: Tenant,
  session: McpSessionRecord,
  type: "session_closed" | "session_timeout",
): void {
  tx.delete(mcpSessions, tenant, session.id);
  emit(work, tx, tenant, {
    type,
    resource: { type: "mcp_session", id: session.id },
    details: {
      ...detailsOf(session),
      duration_ms: work.app.ports.clock.now() - session.created_at_ms,
      calls: session.calls,
      ...(type === "session_timeout" && { idle_seconds: SESSION_IDLE_MS / 1000 }),
    },
  });
}

const detailsOf = ({ id, client, actor }: McpSessionRecord) => ({
  session_id: id,
  client,
  user: actor,
});

function takeCalls(app: App, id: string): number {
  const counts = unrecorded.get(app);
  const calls = counts?.get(id) ?? 0;
  counts?.delete(id);
  return calls;
}
