import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import {
  AGENT_PROTOCOL,
  type CommandOrder,
  type CommandResult,
  type PolicyFrame,
  type RunFrame,
  type WelcomeFrame,
} from "./frames.ts";
import { canonicalJson } from "../codec/canonical.ts";
import { sha256Hex } from "../codec/text.ts";
import type { TransferFrame } from "./transfers.ts";

/**
 * What relay and agent sign, as text whose UTF-8 bytes are signed. Each kind begins with a name of its
 * own, each line ends with a line feed, and no field can hold a space or a line feed. Ed25519 is
 * computed on the calling thread by WebCrypto here too, so it is called directly: order is then kept
 * by itself, and a batch shares one signature.
 */

/** The SHA-256 of nothing: what most commands write to stderr. */
export const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const RAW_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** RFC 8410: what stands before the 32 bytes of an Ed25519 private key in PKCS #8. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** A link as both sides know it. */
export interface LinkIdentity {
  readonly agentId: string;
  /** The agent's nonce in `hello`. */
  readonly nonce: string;
}

/** What proves that the agent holds its key. */
export const challengeText = (nonce: string): string => `${AGENT_PROTOCOL}\n${nonce}`;

/** What proves that the relay holds the verdict key, and what its time is. */
export function welcomeText(
  { agent_id, time_ms }: Pick<WelcomeFrame, "agent_id" | "time_ms">,
  nonce: string,
): string {
  return `relay.welcome.v1\n${agent_id}\n${nonce}\n${time_ms}\n`;
}

/** What a verdict key signs of the one that takes its place. */
export const handoverText = (verdictKey: string): string => `relay.handover.v1\n${verdictKey}\n`;

/** The relay's verdict: these bytes, on this agent, on this link, once, until then. */
export function verdictText(
  { agentId, nonce }: LinkIdentity,
  { batch, expires_at_ms, commands }: Pick<RunFrame, "batch" | "expires_at_ms" | "commands">,
  digests: readonly string[] = commands.map(({ command }) => sha256Hex(command)),
): string {
  const head = `relay.verdict.v1\n${agentId}\n${nonce}\n${batch}\n${expires_at_ms}\n`;
  return head + commands.map((order, at) => orderLine(order, digests[at]!)).join("");
}

function orderLine(order: CommandOrder, sha256: string): string {
  const { command_id, timeout_ms, max_output_bytes, policy_version } = order;
  return `${command_id} ${sha256} ${timeout_ms} ${max_output_bytes} ${policy_version}\n`;
}

const POLICY_VERSION_CHARS = 16;

/** The policies that an agent is told, by the digest of their canonical JSON. */
export function policyText(
  { agentId, nonce }: LinkIdentity,
  { serial, policy_version, policies }: Omit<PolicyFrame, "type" | "signature">,
): string {
  const sha256 = sha256Hex(canonicalJson(policies));
  return `relay.policy.v1\n${agentId}\n${nonce}\n${serial}\n${policy_version} ${sha256}\n`;
}

/** The name of exactly these policies: the start of the same digest. */
export const policyVersionOf = (policies: PolicyFrame["policies"]): string =>
  sha256Hex(canonicalJson(policies)).slice(0, POLICY_VERSION_CHARS);

/** What the relay asks of an agent's files: this archive, in this direction, on this link, once. */
export function transferText(
  { agentId, nonce }: LinkIdentity,
  { serial, job_id, kind, sha256, stored_bytes }: Omit<TransferFrame, "type" | "signature">,
): string {
  return `relay.transfer.v1\n${agentId}\n${nonce}\n${serial}\n` +
    `${kind} ${job_id} ${sha256 ?? "-"} ${stored_bytes}\n`;
}

/** What is signed of a result besides its own fields: the digests of all that was sent. */
export interface OutputDigests {
  readonly stdout: string;
  readonly stderr: string;
}

/** The digests that a result claims for the output that it ends. */
export function claimedDigests(result: CommandResult): OutputDigests {
  return {
    stdout: result.stdout_sha256 ?? digestOf(result.stdout ?? ""),
    stderr: result.stderr_sha256 ?? digestOf(result.stderr ?? ""),
  };
}

const digestOf = (text: string) => text === "" ? EMPTY_SHA256 : sha256Hex(text);

/** The agent's receipt: what became of these commands. Its lines are in ascending order. */
export function receiptText(
  agentId: string,
  results: readonly CommandResult[],
  digests: readonly OutputDigests[] = results.map(claimedDigests),
): string {
  const lines = results.map((result, at) => receiptLine(result, digests[at]!));
  return `relay.receipt.v1\n${agentId}\n${lines.sort().join("")}`;
}

function receiptLine(result: CommandResult, { stdout, stderr }: OutputDigests): string {
  const { command_id, verdict, exit_code, signal, reason, truncated } = result;
  return `${command_id} ${verdict} ${exit_code ?? "-"} ${signal ?? "-"} ${reason} ${truncated} ` +
    `${stdout} ${stderr}\n`;
}

/** The Ed25519 signature of a text, base64url without padding. */
export function signText(key: KeyObject, text: string): string {
  return sign(null, Buffer.from(text), key).toString("base64url");
}

/** Whether a signature is of this text and key; one that is written in any other way is not. */
export function verifiesText(key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, "base64url");
  return bytes.length === SIGNATURE_BYTES && bytes.toString("base64url") === signature &&
    verify(null, Buffer.from(text), key, bytes);
}

/** A public key from its 32 raw bytes, base64url; null when it is none. */
export function publicKeyOf(raw: string): KeyObject | null {
  if (Buffer.from(raw, "base64url").length !== RAW_KEY_BYTES) return null;
  try {
    return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw }, format: "jwk" });
  } catch {
    return null;
  }
}

/** A private key from its 32 raw bytes. */
export function privateKeyOf(raw: Uint8Array): KeyObject {
  const der = Buffer.concat([PKCS8_PREFIX, raw]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

/** The raw public half of a private key, base64url without padding. */
export function rawPublicKey(key: KeyObject): string {
  const { x } = createPublicKey(key).export({ format: "jwk" });
  if (x === undefined) throw new TypeError("this is no Ed25519 key");
  return x;
}
