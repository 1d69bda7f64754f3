import { z } from "zod";
import {
  inspectFrame,
  stateFrame,
  transferDataFrame,
  transferDoneFrame,
  transferEndFrame,
  transferFailedFrame,
  transferFrame,
  transferReadyFrame,
  transferWantFrame,
} from "./transfers.ts";
import { programFacts, upgradeFrame, upgradeReadyFrame } from "./upgrades.ts";

/**
 * The frames of the WebSocket subprotocol `relay.agent.v1`: JSON text frames that differ in `type`. Unknown fields
 * are dropped and unknown types ignored, so that either side may be newer. docs/agent-protocol.md describes them.
 */
export const AGENT_PROTOCOL = "relay.agent.v1";

/** Largest frame from an agent, in UTF-8 bytes; two full tails of escaped output fit into it. */
export const MAX_AGENT_FRAME_BYTES = 256 * 1024;
/** Largest `hello`, in UTF-8 bytes: it is read before the sender is known. */
export const MAX_HELLO_BYTES = 16 * 1024;
/** Largest frame from the relay, in UTF-8 bytes; the longest command fits into it escaped. */
export const MAX_RELAY_FRAME_BYTES = 256 * 1024;
/** Largest piece of output in one frame, in UTF-8 bytes before JSON escapes, which can make it 6 times longer. */
export const MAX_OUTPUT_CHUNK_BYTES = 16 * 1024;
/** Longest command, in UTF-16 units: at 3 bytes each it stays below Linux's 128 KiB an argument. */
export const MAX_COMMAND_LENGTH = 32 * 1024;
/** Commands that one agent runs at once. */
export const MAX_CONCURRENT_COMMANDS = 64;
/** Commands in one `run` frame, or results in one `results` frame. */
export const MAX_BATCH = 64;
/** Commands that `hello` may name: running ones, and the same number with unsent results. */
export const MAX_NAMED_COMMANDS = 2 * MAX_CONCURRENT_COMMANDS;
/**
 * Policies for one agent, and of one organization. One change may replace all of them, and its events must fit into
 * one value of the log.
 */
export const MAX_POLICIES = 32;
/** Handovers that a key keeps. An agent that missed more needs a person to trust the new key. */
export const MAX_HANDOVERS = 32;
/** The time that the relay waits for `hello` after its `challenge`. */
export const HELLO_TIMEOUT_MS = 10_000;
/** The longest run of a command: the API's limit of `timeout`, 600 s. */
const MAX_TIMEOUT_MS = 600_000;
/** The most output that `run` may ask an agent to keep. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

const COMMAND_ID = /^[A-Za-z0-9_-]{1,40}$/;
const commandId = z.string().regex(COMMAND_ID);
const VERDICT_ID = /^[A-Za-z0-9_-]{16,64}\.[1-9][0-9]{0,14}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const sha256 = z.string().regex(SHA256);
/** An Ed25519 signature, base64url without padding; empty when missing, which never verifies. */
const signature = z.string().max(128).default("");
/** The 32 raw bytes of an Ed25519 public key, base64url without padding. */
export const rawKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
/** The version of an agent's policies: the start of their digest. */
const policyVersion = z.string().regex(/^[0-9a-f]{16}$/);
const count = z.int().min(1).max(999_999_999_999_999);
/** Text that an event can hold: without unpaired surrogates. */
const wholeText = (max: number) =>
  z.string().max(max).refine((text) => text.isWellFormed(), "must not hold unpaired surrogates");
const shortText = (max: number) => wholeText(max).min(1).regex(/^\P{Cc}*$/u);
const chunk = z.string().max(MAX_OUTPUT_CHUNK_BYTES);

/** The key of a label, like those of Kubernetes. */
export const labelKey = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/,
  "must be a letter or digit, then up to 62 letters, digits, '.', '_', '/' and '-'",
);

/** The value of a label. */
export const labelValue = z.string().max(128).regex(/^[\x20-\x7e]*$/, "must be printable ASCII");

/** An agent's labels: at most 16. */
export const agentLabels = z.record(labelKey, labelValue).refine(
  (labels) => Object.keys(labels).length <= 16,
  "must hold at most 16 labels",
)
  .meta({ maxProperties: 16 });

/** An agent's description of itself and its machine. */
export const agentFacts = z.object({
  name: shortText(128),
  version: shortText(64),
  platform: shortText(64),
  hostname: shortText(255),
  labels: agentLabels,
});

const helloFrame = z.object({
  type: z.literal("hello"),
  agent: agentFacts,
  public_key: rawKey,
  /** The 64 bytes of an Ed25519 signature over `challengeText`, base64url without padding. */
  signature: z.string().regex(/^[A-Za-z0-9_-]{86}$/),
  /** Commands that run now or whose results follow `welcome`. */
  running: z.array(commandId).max(MAX_NAMED_COMMANDS),
  /** Identifies this link: all that the relay signs on it contains this nonce. */
  nonce: z.string().regex(/^[A-Za-z0-9_-]{16,64}$/),
  /** The version of its stored policies; absent when it never got any. */
  policy_version: policyVersion.optional(),
  /** The size of the audit log in its stored checkpoint; absent for none. */
  witnessed: count.optional(),
  /** Its pinned verdict key; null for none yet, absent when it cannot follow handovers. */
  verdict_key: rawKey.nullable().optional(),
  /** How it is installed; absent when it cannot be upgraded over the link. */
  program: programFacts.optional(),
});

const heartbeatFrame = z.object({
  type: z.literal("heartbeat"),
  status: z.enum(["ok", "degraded", "error"]),
});

const startedFrame = z.object({ type: z.literal("started"), command_id: commandId });

const outputFrame = z.object({
  type: z.literal("output"),
  command_id: commandId,
  stream: z.enum(["stdout", "stderr"]),
  data: chunk,
});

/** How one command ended. */
const commandResult = z.object({
  command_id: commandId,
  /** The verdict that allowed it: the link's nonce, a dot and the number of the batch. */
  verdict: z.string().regex(VERDICT_ID),
  /** Null when a signal ended it or it never started. */
  exit_code: z.int().min(-2147483648).max(4294967295).nullable(),
  /** Such as `SIGTERM`; null when it exited by itself. */
  signal: z.string().regex(/^[A-Z][A-Z0-9+-]{0,15}$/).nullable(),
  reason: z.enum(["exited", "timed_out", "cancelled", "failed_to_start"]),
  duration_ms: z.number().min(0),
  /** The rest of the output, which no `output` frame carried. */
  stdout: chunk.optional(),
  stderr: chunk.optional(),
  /** SHA-256 of a stream's whole output, in hex; present when `output` frames carried some of it. */
  stdout_sha256: sha256.optional(),
  stderr_sha256: sha256.optional(),
  /** True when output was omitted, or may have been lost with an earlier link. */
  truncated: z.boolean(),
});

/** Results and the agent's receipt: its signature over `receiptText`. */
export const resultsFrame = z.object({
  type: z.literal("results"),
  results: z.array(commandResult).min(1).max(MAX_BATCH),
  signature,
});

const refusedFrame = z.object({
  type: z.literal("refused"),
  command_id: commandId,
  reason: z.enum(["duplicate", "busy", "stopping", "unverified"]),
  message: wholeText(512),
});

/** The agent has stored these policies. */
const policyHeldFrame = z.object({
  type: z.literal("policy_held"),
  policy_version: policyVersion,
});

/** The agent keeps a checkpoint, and signed the same text as the relay. */
const checkpointKeptFrame = z.object({
  type: z.literal("checkpoint_kept"),
  /** The size of the log in that checkpoint. */
  size: count,
  signature,
});

/** The agent refuses a checkpoint that contradicts its stored one. */
const checkpointRefusedFrame = z.object({
  type: z.literal("checkpoint_refused"),
  reason: z.enum(["another_key", "unproven", "rolled_back", "rewritten"]),
  /** The log sizes of the stored checkpoint and of the refused one. */
  witnessed: z.int().min(0),
  size: z.int().min(0),
});

const challengeFrame = z.object({
  type: z.literal("challenge"),
  nonce: z.string().regex(/^[\x21-\x7e]{16,256}$/),
});

const welcomeFrame = z.object({
  type: z.literal("welcome"),
  agent_id: shortText(64),
  name: shortText(128),
  heartbeat_seconds: z.number().min(1).max(3600),
  relay_version: shortText(64),
  /** The relay's time, in milliseconds since the Unix epoch; `expires_at_ms` refers to it. */
  time_ms: count,
  /** The organization's verdict key. */
  verdict_key: rawKey,
  /** By the verdict key, over `welcomeText`. */
  signature,
  /** The handovers from the key in `hello` to this one, each signed by the key before it. */
  handovers: z.array(z.object({ verdict_key: rawKey, signature })).max(MAX_HANDOVERS).optional(),
});

/** One command to run. */
const commandOrder = z.object({
  command_id: commandId,
  command: wholeText(MAX_COMMAND_LENGTH).min(1),
  timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS),
  max_output_bytes: z.int().min(0).max(MAX_OUTPUT_BYTES),
  /** The version of the policy that allowed it. */
  policy_version: z.string().regex(/^[\x21-\x7e]{1,64}$/),
  /** The trace that the run belongs to, as in the header of W3C Trace Context; no verdict covers it. */
  traceparent: z.string().regex(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/).optional(),
});

/** Commands and the relay's verdict on them: its signature over `verdictText`. */
const runFrame = z.object({
  type: z.literal("run"),
  /** Counts the batches of this link; a number that does not increase is a replay. */
  batch: count,
  /** On the relay's clock. */
  expires_at_ms: count,
  commands: z.array(commandOrder).min(1).max(MAX_BATCH),
  signature,
});

/** The agent's policies, which replace all earlier ones, signed by the relay. */
const policyFrame = z.object({
  type: z.literal("policy"),
  /** Counts these frames on this link; a number that does not increase is a replay. */
  serial: count,
  policy_version: policyVersion,
  policies: z.array(z.record(z.string(), z.unknown())).max(MAX_POLICIES),
  /** By the verdict key, over `policyText`. */
  signature,
});

const cancelFrame = z.object({ type: z.literal("cancel"), command_id: commandId });

const restartFrame = z.object({ type: z.literal("restart") });

/** A signed checkpoint of the organization's audit log, which the agent witnesses. */
const checkpointFrame = z.object({
  type: z.literal("checkpoint"),
  /** A signed note. */
  note: z.string().max(4096),
  public_key: z.string().max(512),
  /** Consistency with the agent's stored checkpoint (RFC 6962), hashes in base64. */
  proof: z.array(z.string().regex(/^[A-Za-z0-9+/]{43}=$/)).max(64),
  /** Handover notes that lead to the signing key, oldest first. */
  handovers: z.array(z.string().max(4096)).max(MAX_HANDOVERS).optional(),
});

/** The relay's answer to each heartbeat, which distinguishes an idle relay from a dead link. */
const heartbeatAckFrame = z.object({ type: z.literal("heartbeat_ack") });

const errorFrame = z.object({
  type: z.literal("error"),
  code: shortText(64),
  message: z.string().max(1024),
});

const AGENT_FRAMES = {
  hello: helloFrame,
  heartbeat: heartbeatFrame,
  started: startedFrame,
  output: outputFrame,
  results: resultsFrame,
  refused: refusedFrame,
  policy_held: policyHeldFrame,
  checkpoint_kept: checkpointKeptFrame,
  checkpoint_refused: checkpointRefusedFrame,
  state: stateFrame,
  transfer_ready: transferReadyFrame,
  transfer_want: transferWantFrame,
  transfer_data: transferDataFrame,
  transfer_done: transferDoneFrame,
  transfer_failed: transferFailedFrame,
  upgrade_ready: upgradeReadyFrame,
} as const;

const RELAY_FRAMES = {
  challenge: challengeFrame,
  welcome: welcomeFrame,
  run: runFrame,
  policy: policyFrame,
  inspect: inspectFrame,
  transfer: transferFrame,
  transfer_want: transferWantFrame,
  transfer_data: transferDataFrame,
  transfer_end: transferEndFrame,
  upgrade: upgradeFrame,
  cancel: cancelFrame,
  restart: restartFrame,
  checkpoint: checkpointFrame,
  heartbeat_ack: heartbeatAckFrame,
  error: errorFrame,
} as const;

export type AgentFacts = z.infer<typeof agentFacts>;
export type AgentFrame = z.infer<(typeof AGENT_FRAMES)[keyof typeof AGENT_FRAMES]>;
export type RelayFrame = z.infer<(typeof RELAY_FRAMES)[keyof typeof RELAY_FRAMES]>;
export type HelloFrame = z.infer<typeof helloFrame>;
export type OutputFrame = z.infer<typeof outputFrame>;
export type CommandResult = z.infer<typeof commandResult>;
export type ResultsFrame = z.infer<typeof resultsFrame>;
export type RefusedFrame = z.infer<typeof refusedFrame>;
export type WelcomeFrame = z.infer<typeof welcomeFrame>;
export type CommandOrder = z.infer<typeof commandOrder>;
export type PolicyFrame = z.infer<typeof policyFrame>;
export type CheckpointFrame = z.infer<typeof checkpointFrame>;
export type CheckpointKeptFrame = z.infer<typeof checkpointKeptFrame>;
export type CheckpointRefusedFrame = z.infer<typeof checkpointRefusedFrame>;
export type RunFrame = z.infer<typeof runFrame>;

/**
 * Reads a frame from an agent: the frame, `"unknown"` for a type of a later version (ignore it), or
 * null for one that is malformed. Check its size first with `fitsBytes`.
 */
export function parseAgentFrame(text: string): AgentFrame | "unknown" | null {
  return parseFrame<AgentFrame>(AGENT_FRAMES, text);
}

/** Reads a frame from the relay: the frame, `"unknown"` (ignore it), or null when malformed. */
export function parseRelayFrame(text: string): RelayFrame | "unknown" | null {
  return parseFrame<RelayFrame>(RELAY_FRAMES, text);
}

function parseFrame<Frame>(
  schemas: Readonly<Record<string, z.ZodType>>,
  text: string,
): Frame | "unknown" | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const type = (value as { type?: unknown }).type;
  if (typeof type !== "string") return null;
  if (!Object.hasOwn(schemas, type)) return "unknown";
  if (type === "results" && isPlainResults(value as Fields)) return value as Frame;
  const parsed = schemas[type]?.safeParse(value);
  return parsed?.success ? parsed.data as Frame : null;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * True for the most common frame: results of short commands that exited. This check takes a tenth of the time of
 * `resultsFrame`, is as strict, and passes everything else on to it.
 */
function isPlainResults(frame: Fields): boolean {
  const { results, signature } = frame;
  return Object.keys(frame).length === 3 && typeof signature === "string" &&
    signature.length <= 128 && Array.isArray(results) && results.length >= 1 &&
    results.length <= MAX_BATCH && results.every(isPlainResult);
}

const REQUIRED_FIELDS = 7;

function isPlainResult(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return false;
  const { command_id, verdict, exit_code, signal, reason, duration_ms, stdout, stderr, truncated } =
    result as Fields;
  return reason === "exited" && signal === null && typeof truncated === "boolean" &&
    typeof exit_code === "number" && Number.isInteger(exit_code) && exit_code >= 0 &&
    exit_code <= 255 && typeof duration_ms === "number" && duration_ms >= 0 &&
    typeof command_id === "string" && COMMAND_ID.test(command_id) &&
    typeof verdict === "string" && VERDICT_ID.test(verdict) &&
    isChunk(stdout) && isChunk(stderr) && Object.keys(result).length ===
      REQUIRED_FIELDS + (stdout === undefined ? 0 : 1) + (stderr === undefined ? 0 : 1);
}

const isChunk = (value: unknown): boolean =>
  value === undefined || typeof value === "string" && value.length <= MAX_OUTPUT_CHUNK_BYTES;

/** True when `text` takes at most `maxBytes` in UTF-8. Encodes only when the length does not decide. */
export function fitsBytes(text: string, maxBytes: number): boolean {
  if (text.length * 3 <= maxBytes) return true;
  if (text.length > maxBytes) return false;
  return new TextEncoder().encodeInto(text, new Uint8Array(maxBytes)).read === text.length;
}
