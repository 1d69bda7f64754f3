import { Buffer } from "node:buffer";
import { type Tenant, tenantKey } from "../kv/collection.ts";
import type { Sequenced } from "../kv/log.ts";
import type { App, Reading, Writing } from "./app.ts";
import { csvRow } from "./csv.ts";
import { eventJson, type EventRow, isOwnEvent } from "./events.ts";
import { Fault } from "./fault.ts";

/** What an audit query may ask for; times in ms, all conditions must hold. */
export interface AuditFilter {
  readonly startMs?: number | undefined;
  readonly endMs?: number | undefined;
  readonly event_type?: string | undefined;
  readonly actor?: string | undefined;
  readonly resource_type?: string | undefined;
  readonly resource_id?: string | undefined;
}

/** An event with its number in the organization's log. */
export type AuditEvent = EventRow & { readonly seq: number };

const PAGE = 500;
/** Log order and timestamps differ by no more than the time between a change and its commit. */
const CLOCK_SLACK_MS = 60_000;
/** One query reads at most this many rows; the cursor goes on from there. */
const SCAN_MAX = 20_000;

/**
 * Events that match, newest first. A query shows every change that was answered before it began. The
 * cursor is the number of the oldest event that was looked at.
 */
export async function queryAudit(
  work: Reading,
  filter: AuditFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
) {
  const { app, actor } = work;
  await app.log.flush();
  const { tenant } = actor;
  const head = await app.log.head(tenant);
  let before = cursor === undefined ? head + 1 : positionOf(cursor);
  const events: AuditEvent[] = [];
  let scanned = 0;
  scan: while (before > 1 && scanned < SCAN_MAX) {
    const page = await app.log.readBack(tenant, before, PAGE);
    if (page.length === 0) {
      before = 1;
      break;
    }
    for (const sequenced of page) {
      const event = show(sequenced);
      if (filter.startMs !== undefined && atMs(event) < filter.startMs - CLOCK_SLACK_MS) {
        before = 1;
        break scan;
      }
      if (matches(event, filter)) {
        if (events.length === limit) break scan;
        events.push(event);
      }
      before = sequenced.seq;
      scanned++;
    }
  }
  const more = before > 1;
  return {
    events,
    cursor: more ? Buffer.from(`${before}`).toString("base64url") : null,
    pagination: { total: head, limit, offset: 0, has_more: more },
  };
}

/**
 * Events after a place in the log, oldest first, and the place to go on from; without a place, the newest
 * ones. An event that does not match is passed over, not waited for.
 */
export async function tailAudit(
  { app, actor: { tenant } }: Reading,
  filter: AuditFilter & { readonly agent_id?: string | undefined },
  { limit, after }: { limit: number; after?: number | undefined },
) {
  await app.log.flush();
  const head = await app.log.head(tenant);
  let position = Math.min(after ?? Math.max(0, head - limit), head);
  const events: AuditEvent[] = [];
  for (let scanned = 0; position < head && scanned < SCAN_MAX && events.length < limit;) {
    const page = await app.log.read(tenant, position, PAGE);
    for (const sequenced of page) {
      if (events.length === limit || sequenced.seq > head) break;
      const event = show(sequenced);
      const wanted = filter.agent_id === undefined || filter.agent_id === event.agent_id;
      if (wanted && matches(event, filter)) events.push(event);
      position = sequenced.seq;
      scanned++;
    }
    if (page.length === 0) break;
  }
  return { events, cursor: position, has_more: position < head };
}

/** Puts a look at the trail into the trail. */
export async function recordRead(
  { app, actor, request }: Reading,
  type: "audit_read" | "audit_exported" | "audit_checkpoint_read" | "audit_proof_read",
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { tenant } = actor;
  const resource = { type: "audit_log", id: tenantKey(tenant) };
  const json = eventJson({ app, actor, request }, tenant, { type, resource, details });
  await app.store.append(tenant, type, json);
}

/** Every matching event, oldest first, a bounded piece at a time. */
export async function* walkAudit(
  app: App,
  tenant: Tenant,
  filter: AuditFilter,
): AsyncGenerator<AuditEvent> {
  await app.log.flush();
  const head = await app.log.head(tenant);
  let after = 0;
  while (after < head) {
    const page = await app.log.read(tenant, after, PAGE);
    if (page.length === 0) return;
    for (const sequenced of page) {
      if (sequenced.seq > head) return;
      const event = show(sequenced);
      if (filter.endMs !== undefined && atMs(event) > filter.endMs + CLOCK_SLACK_MS) return;
      if (matches(event, filter)) yield event;
    }
    after = page.at(-1)!.seq;
  }
}

/** The forms in which the trail can be taken away, by media type. */
export const EXPORTS: Readonly<
  Record<string, { extension: string; write: (rows: AsyncIterable<AuditEvent>) => Lines }>
> = {
  "application/json": { extension: "json", write: writeJson },
  "application/x-ndjson": { extension: "ndjson", write: writeNdjson },
  "text/csv": { extension: "csv", write: writeCsv },
};
type Lines = AsyncGenerator<string>;

async function* writeJson(rows: AsyncIterable<AuditEvent>): Lines {
  yield '{"events":[';
  let separator = "";
  for await (const row of rows) {
    yield `${separator}\n${JSON.stringify(row)}`;
    separator = ",";
  }
  yield "\n]}\n";
}

async function* writeNdjson(rows: AsyncIterable<AuditEvent>): Lines {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
}

const COLUMNS = [
  "seq",
  "event_id",
  "event_type",
  "timestamp",
  "actor",
  "resource_type",
  "resource_id",
  "agent_id",
  "request_id",
] as const;

async function* writeCsv(rows: AsyncIterable<AuditEvent>): Lines {
  yield csvRow([...COLUMNS, "details"]);
  for await (const row of rows) {
    yield csvRow([...COLUMNS.map((name) => row[name] ?? null), JSON.stringify(row.details)]);
  }
}

/**
 * Puts a caller's own event into the trail. It names whom the caller names; that it came from outside,
 * and through which credential, stands beside it.
 */
export function registerAuditEvent(
  work: Writing,
  input: { event_type: string; actor?: string | undefined; details: Record<string, unknown> },
): { event_id: string; event_type: string; timestamp: string } {
  const { actor, tx } = work;
  if (isOwnEvent(input.event_type) && input.event_type !== "user_login") {
    throw new Fault("VALIDATION_FAILED", "Relay writes events of this type itself.", {
      issues: [{ path: "body.event_type", message: "is reserved" }],
    });
  }
  const json = eventJson({ ...work, actor: { id: input.actor ?? actor.id } }, actor.tenant, {
    type: input.event_type,
    resource: { type: "external", id: actor.id },
    details: { ...input.details, reported_by: actor.id },
  });
  tx.append(actor.tenant, input.event_type, json);
  const { event_id, event_type, timestamp } = JSON.parse(json) as EventRow;
  return { event_id, event_type, timestamp };
}

const show = ({ seq, json }: Sequenced): AuditEvent => ({ seq, ...JSON.parse(json) as EventRow });
const atMs = (event: AuditEvent) => Date.parse(event.timestamp);

function matches(event: AuditEvent, filter: AuditFilter): boolean {
  const at = atMs(event);
  return (filter.startMs === undefined || at >= filter.startMs) &&
    (filter.endMs === undefined || at <= filter.endMs) &&
    (["event_type", "actor", "resource_type", "resource_id"] as const)
      .every((name) => filter[name] === undefined || filter[name] === event[name]);
}

function positionOf(cursor: string): number {
  const position = Number(Buffer.from(cursor, "base64url").toString());
  if (Number.isSafeInteger(position) && position >= 1) return position;
  throw new Fault("VALIDATION_FAILED", "The cursor is not one that this list gave.", {
    issues: [{ path: "query.cursor", message: "is not a cursor of this list" }],
  });
}
