import { z } from "zod";
import { collection } from "../store/collection.ts";
import { BlobRef } from "../store/blob.ts";
import { Idempotency, keyOfCaller } from "./idempotency.ts";

export const COMMAND_STATUSES = [
  "queued",
  "running",
  "succeeded",
  "failed",
  "denied",
  "pending_approval",
  "rejected",
  "expired",
  "cancelled",
  "timed_out",
  "lost",
] as const;
export type CommandStatus = (typeof COMMAND_STATUSES)[number];

/** Those of commands that have not ended. */
export const OPEN_STATUSES: readonly CommandStatus[] = ["pending_approval", "queued", "running"];

/**
 * One command for one agent. While it runs, it is in the journal of open commands and in the memory of its
 * process. Its row is written at its end, or at once when others must find it.
 */
export const CommandRecord = z.strictObject({
  id: z.string(),
  agent_id: z.string(),
  command: z.string(),
  timeout_ms: z.int(),
  status: z.enum(COMMAND_STATUSES),
  actor: z.string(),
  request_id: z.string(),
  /** The trace of that request, in which it runs. */
  traceparent: z.string().optional(),
  /** The grant of the MCP client that asked for it. */
  mcp_grant_id: z.string().optional(),
  /** The version of the shield settings that judged it. */
  policy_version: z.string(),
  idempotency: Idempotency.nullable(),
  shield_result: z.unknown(),
  /** Its request for approval, if any. */
  approval_id: z.string().nullable(),
  /** The fleet command that it belongs to. */
  parent_id: z.string().optional(),
  /** The alert that it answers. */
  alert_id: z.string().optional(),
  /** The alert whose story it belongs to: the one that it answers, or the one that its denial raised. */
  thread: z.string().optional(),
  /** Names the claim of the process that took it from the queue. */
  claim: z.string().optional(),
  /** When it expires in the queue; null for a queued command of a fleet command whose turn has not come. */
  start_before_ms: z.number().nullable(),
  /** The instances whose callers wait for its end. */
  reply_to: z.array(z.string()).max(64).optional(),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  /** Bytes of stdout and stderr by turns, stdout first; absent or empty when all of stdout came first. */
  turns: z.array(z.int()).optional(),
  /** Output that is too large for the record: stdout, then stderr, then the turns as JSON, if there are any. */
  output: z.strictObject({
    ...BlobRef.shape,
    stdout_bytes: z.int(),
    turns_bytes: z.int().optional(),
  }).nullable(),
  truncated: z.boolean(),
  /** The verdict that a lost command was sent under; a late result must name it. */
  verdict: z.string().optional(),
  /** Why there is no result; null when it ran to its end. */
  reason: z.string().nullable(),
  duration_ms: z.number().nullable(),
  created_at_ms: z.number(),
  started_at_ms: z.number().nullable(),
  finished_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type CommandRecord = z.infer<typeof CommandRecord>;

/** True for a command that has not ended. */
export const isOpen = ({ status }: Pick<CommandRecord, "status">): boolean =>
  status === "pending_approval" || status === "queued" || status === "running";

export const commands = collection({
  name: "commands",
  schema: CommandRecord,
  expiresAt: (c) => c.expires_at_ms,
  index: {
    agent: (c) => [c.agent_id],
    open: (c) => OPEN_STATUSES.includes(c.status) ? [] : null,
    parent: (c) => c.parent_id === undefined ? null : [c.parent_id],
    parent_status: (c) => c.parent_id === undefined ? null : [c.parent_id, c.status],
  },
  queue: {
    queued: (c) => c.status === "queued" && c.start_before_ms !== null ? [c.agent_id] : null,
  },
  unique: { idempotency: (c) => c.idempotency && keyOfCaller(c.actor, c.idempotency.key) },
});

/** Why a fleet command starts no further commands. */
const Stop = z.strictObject({
  reason: z.enum(["cancelled", "failures", "relay_stopped"]),
  /** Who cancelled it; null for the relay itself. */
  by: z.string().nullable(),
  at_ms: z.number(),
});
export type FleetStop = z.infer<typeof Stop>;

/**
 * One command for many agents. Its commands are rows of their own, which name it as their parent; their number by
 * status is counted from those rows. Its own row changes rarely, because the commit that starts a command checks it.
 */
const FleetCommandRecord = z.strictObject({
  id: z.string(),
  command: z.string(),
  timeout_ms: z.int(),
  /** How many commands run at once. */
  parallel: z.int(),
  /** After so many failures no further command starts; null for any number. */
  stop_after_failures: z.int().nullable(),
  /** How many commands it has. */
  total: z.int(),
  /** `preparing` until all its commands are recorded; none starts before. */
  status: z.enum(["preparing", "running", "ended"]),
  stop: Stop.nullable(),
  /** The instance that starts its commands. */
  owner: z.string(),
  /** The requests for approval of the commands that were held. */
  approvals: z.array(z.string()),
  actor: z.string(),
  /** The person behind the actor. */
  user_id: z.string(),
  request_id: z.string(),
  traceparent: z.string().optional(),
  /** The grant of the MCP client that asked for it. */
  mcp_grant_id: z.string().optional(),
  /** The alert that it answers. */
  alert_id: z.string().optional(),
  idempotency: Idempotency.nullable(),
  created_at_ms: z.number(),
  finished_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type FleetCommandRecord = z.infer<typeof FleetCommandRecord>;

export const fleetCommands = collection({
  name: "fleet_commands",
  schema: FleetCommandRecord,
  expiresAt: (fleet) => fleet.expires_at_ms,
  queue: { open: (fleet) => fleet.status === "ended" ? null : [fleet.owner] },
  unique: {
    idempotency: (fleet) => fleet.idempotency && keyOfCaller(fleet.actor, fleet.idempotency.key),
  },
});

/** Every id of a command begins with this; then follows its time, in ms in base 36. */
const [PREFIX, TIME_CHARS] = ["cmd_", 9];
const TIME_IN_ID = new RegExp(`^${PREFIX}([0-9a-z]{${TIME_CHARS}})`);

/** When an id was made, in ms; null for an id of another form. */
export function commandMadeMs(id: string): number | null {
  const time = TIME_IN_ID.exec(id)?.[1];
  return time === undefined ? null : parseInt(time, 36);
}

/** The least id of a command that was made at an instant in ms or later. */
export const leastCommandId = (ms: number): string =>
  PREFIX + Math.max(0, ms).toString(36).padStart(TIME_CHARS, "0");
