import { z } from "zod";
import {
  exportAudit,
  EXPORTS,
  proveConsistency,
  proveEvent,
  queryAudit,
  readCheckpoint,
  READERS,
  recordRead,
  registerAuditEvent,
  RESOURCE_TYPES,
  RESULTS,
  whileReadable,
} from "../core/events/events.ts";
import { acceptedOf } from "./call/accept.ts";
import { route } from "./call/route.ts";
import {
  AgentFilter,
  boundedObject,
  Id,
  Instant,
  JsonObject,
  LastInstant,
  PageQuery,
  Pagination,
  Thread,
  Timestamp,
  wholeNumber,
} from "./schemas/schemas.ts";

const DETAILS_BYTES_MAX = 8 * 1024;

/** One event of the log. */
export const AuditEvent = z.object({
  seq: z.int(),
  event_id: z.string(),
  event_type: z.string(),
  timestamp: Timestamp,
  actor: z.string(),
  organization_id: z.string(),
  agent_id: z.string().optional(),
  resource_type: z.string(),
  resource_id: z.string(),
  request_id: z.string().optional(),
  mcp_grant_id: z.string().optional().meta({
    description: "The grant of the MCP client that acted for the actor.",
  }),
  thread: z.string().optional().meta({ description: "The alert whose story it belongs to." }),
  trace_id: z.string().optional().meta({ description: "The trace of the request that caused it." }),
  span_id: z.string().optional().meta({ description: "The span of that request." }),
  details: JsonObject,
}).meta({ id: "AuditEvent" });

/** An event that has no sequence number yet. */
const RegisteredEvent = AuditEvent.omit({ seq: true }).meta({ id: "RegisteredAuditEvent" });

/** A signed checkpoint of the log, with hashes in base64. */
const Checkpoint = z.object({
  tree_size: z.int(),
  root_hash: z.string(),
  timestamp: Timestamp,
  note: z.string(),
}).meta({ id: "AuditCheckpoint" });

const Size = wholeNumber(1, Number.MAX_SAFE_INTEGER);

/** Text that a row of the log can hold. */
const RowText = z.string().min(1).refine(
  (text) => text.isWellFormed(),
  "must not hold unpaired surrogates",
);

/** Event types, separated by commas, including an organization's own. */
export const AuditTypes = z.string().max(2000).transform((text) => text.split(",")).pipe(
  z.array(RowText.max(64)),
).meta({
  description: "One or more event types, separated by commas.",
  pattern: "^[^,]{1,64}(,[^,]{1,64})*$",
});

const Filter = z.strictObject({
  start_time: Instant.optional().meta({
    description:
      "From this time, or from the start of this date, inclusive; UTC unless a zone is given.",
  }),
  end_time: LastInstant.optional().meta({
    description: "Until this time, or the end of this date, inclusive; UTC unless a zone is given.",
  }),
  event_type: AuditTypes.optional(),
  agent_id: AgentFilter.optional(),
  actor: RowText.max(128).optional().meta({
    description: "The id of the user, the API key or another actor.",
  }),
  resource_type: z.enum(RESOURCE_TYPES).meta({ id: "ResourceType" }).optional().meta({
    description: "The type of the resource concerned, such as `api_key` or `agent`.",
  }),
  resource_id: RowText.max(128).optional().meta({
    description: "The id of the resource concerned.",
  }),
  result: z.enum(RESULTS).meta({ id: "AuditResult" }).optional().meta({
    description: "The result of the recorded action.",
  }),
  thread: Thread.optional(),
  text: RowText.max(200).optional().meta({
    description: "A text that occurs in `details`, ignoring case.",
  }),
});

const filterOf = ({ start_time, end_time, ...rest }: z.output<typeof Filter>) => ({
  ...rest,
  startMs: start_time,
  endMs: end_time,
});

export const auditRoutes = [
  route({
    id: "audit.query",
    method: "GET",
    path: "/api/audit",
    summary: "Query the audit log, newest first",
    description:
      "Includes every change that was confirmed before the query began. For the next page send " +
      "`cursor`, or `offset`, which counts from the cursor if both are given. New rows, such " +
      "as the record of this query, shift offsets but not cursors. `pagination.total` counts " +
      "the matching rows; with a cursor it repeats the total of the first page. With filters " +
      "it is exact up to 10,000; above that, or after the query has examined 500,000 rows, " +
      "`total_is_at_least` is true.",
    access: { scope: READERS },
    effect: "read",
    query: Filter.extend({
      ...PageQuery.shape,
      cursor: z.string().max(64).optional().meta({
        description: "The `cursor` of the previous response.",
      }),
    }),
    agent: "agent_id",
    rules: { "query.cursor": "must be the `cursor` of a previous response" },
    success: {
      status: 200,
      body: z.object({
        events: z.array(AuditEvent),
        cursor: z.string().nullable(),
        pagination: Pagination.extend({
          total_is_at_least: z.boolean().meta({
            description: "True when more rows than `total` may match.",
          }),
        }).meta({ id: "AuditPagination" }),
      }),
    },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "query_audit_log", destructive: false },
    handle: (work, { query: { limit, offset, cursor, ...filter } }, { audit }) =>
      queryAudit(work, audit, filterOf(filter), { limit, offset, cursor }),
  }),
  route({
    id: "audit.export",
    method: "GET",
    path: "/api/audit/export",
    summary: "Export the audit log, oldest first",
    description:
      "JSON and NDJSON end with a signed checkpoint, so that `relay audit verify` can check " +
      "them without this server. CSV holds the hash of each row.",
    access: { scope: READERS },
    effect: "read",
    query: Filter,
    agent: "agent_id",
    success: { status: 200, content: ["application/json", "application/x-ndjson", "text/csv"] },
    faults: ["AGENT_NOT_FOUND", "NOT_ACCEPTABLE"],
    handle: async (work, { query, accept }, { audit, authenticator }) => {
      const type = acceptedOf(accept, Object.keys(EXPORTS));
      const made = await exportAudit(work, audit, filterOf(query), type);
      return { ...made, body: whileReadable(made.body, authenticator, work.actor) };
    },
  }),
  route({
    id: "audit.checkpoint",
    method: "GET",
    path: "/api/audit/checkpoint",
    summary: "Get a signed checkpoint of the audit log",
    description:
      "`note` is a signed note (c2sp.org/tlog-checkpoint) with the origin, the number of rows, " +
      "the root of the Merkle tree (RFC 6962) and the time. Keep it: every later checkpoint " +
      "must be consistent with it. `handovers` are the notes by which former keys handed over " +
      "to `public_key`, oldest first.",
    access: { scope: READERS },
    effect: "read",
    success: {
      status: 200,
      body: Checkpoint.extend({
        origin: z.string(),
        public_key: z.string(),
        handovers: z.array(z.string()),
      }),
    },
    faults: [],
    handle: async (work, _input, { audit }) => {
      const shown = await readCheckpoint(work, audit, work.actor.tenant);
      await recordRead(work, "audit_checkpoint_read", { tree_size: shown.tree_size });
      return shown;
    },
  }),
  route({
    id: "audit.proof",
    method: "GET",
    path: "/api/audit/proof/{event_id}",
    summary: "Get the inclusion proof of an event",
    description:
      "`path` proves that the event is in the log: it leads from the leaf, SHA-256(0x00 ‖ the " +
      "bytes of `row`), to the root of the checkpoint (RFC 6962, 2.1.1). `row` is null when the " +
      "event is no longer kept; its hash always is.",
    access: { scope: READERS },
    effect: "read",
    params: z.strictObject({ event_id: Id }),
    success: {
      status: 200,
      body: z.object({
        event_id: z.string(),
        seq: z.int(),
        leaf_index: z.int(),
        leaf_hash: z.string(),
        row: z.string().nullable(),
        path: z.array(z.string()),
        checkpoint: Checkpoint,
      }),
    },
    faults: ["NOT_FOUND"],
    handle: async (work, { params: { event_id } }, { audit }) => {
      const proof = await proveEvent(work, audit, work.actor.tenant, event_id);
      await recordRead(work, "audit_proof_read", { event_id });
      return proof;
    },
  }),
  route({
    id: "audit.consistency",
    method: "GET",
    path: "/api/audit/consistency",
    summary: "Get a consistency proof of the audit log",
    description:
      "`path` proves that the log only grew between two sizes (RFC 6962, 2.1.2). `to` is the current size " +
      "by default.",
    access: { scope: READERS },
    effect: "read",
    query: z.strictObject({
      from: Size.meta({ description: "The size of the earlier tree, in rows." }),
      to: Size.optional().meta({
        description: "The size of the later tree, in rows; the current size by default.",
      }),
    }),
    rules: {
      "query.from": "must not exceed `to`",
      "query.to": "must not exceed the size of the log",
    },
    success: {
      status: 200,
      body: z.object({
        from: z.int(),
        to: z.int(),
        from_root: z.string(),
        to_root: z.string(),
        path: z.array(z.string()),
      }),
    },
    faults: [],
    handle: async (work, { query }, { audit }) => {
      const proof = await proveConsistency(work, audit, work.actor.tenant, query);
      await recordRead(work, "audit_proof_read", { from: proof.from, to: proof.to });
      return proof;
    },
  }),
  route({
    id: "audit.register",
    method: "POST",
    path: "/api/audit/event",
    summary: "Record an audit event of your own",
    access: { scope: "audit:write" },
    effect: "write",
    audit: { byRule: "the registered event itself" },
    body: z.strictObject({
      event_type: z.string().regex(
        /^[a-z][a-z0-9_.]{0,63}$/,
        "must be lower-case letters, digits, _ and .",
      ).meta({ examples: ["deploy.finished"] }),
      actor: RowText.max(128).optional(),
      details: boundedObject(DETAILS_BYTES_MAX).default({}),
    }),
    rules: { "body.event_type": "must not be a type that Relay writes itself" },
    success: { status: 201, body: RegisteredEvent },
    faults: [],
    handle: (work, { body }) => registerAuditEvent(work, body),
  }),
];
