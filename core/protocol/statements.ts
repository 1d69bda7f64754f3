import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";
import {
  AGENT_PROTOCOL,
  type CommandOrder,
  type CommandResult,
  type PolicyFrame,
  type RunFrame,
  type WelcomeFrame,
} from "./frames.ts";
import { canonicalJson } from "../codec/codec.ts";
import type { TransferFrame } from "./transfers.ts";
import type { UpgradeFrame } from "./upgrades.ts";

/**
 * The texts that relay and agent sign, as UTF-8. Each kind begins with its own name, each line ends with a line
 * feed, and no field contains a space or a line feed. Signing is synchronous, which keeps the order of frames:
 * WebCrypto computes Ed25519 on the calling thread here anyway.
 */

/** The SHA-256 of empty output, which most commands have on stderr. */
export const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const RAW_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** The PKCS #8 prefix of the 32 bytes of an Ed25519 private key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** Identifies a link for both sides. */
export interface LinkIdentity {
  readonly agentId: string;
  /** The agent's nonce in `hello`. */
  readonly nonce: string;
}

/** Signed by the agent: proves that it holds its key. */
export const challengeText = (nonce: string): string => `${AGENT_PROTOCOL}\n${nonce}`;

/** Signed by the relay: proves that it holds the verdict key, and states its time. */
export function welcomeText(
  { agent_id, time_ms }: Pick<WelcomeFrame, "agent_id" | "time_ms">,
  nonce: string,
): string {
  return `relay.welcome.v1\n${agent_id}\n${nonce}\n${time_ms}\n`;
}

/** Signed by a verdict key: names its successor. */
export const handoverText = (verdictKey: string): string => `relay.handover.v1\n${verdictKey}\n`;

/** The relay's verdict: allows these commands once, on this agent and link, until it expires. */
export function verdictText(
  { agentId, nonce }: LinkIdentity,
  { batch, expires_at_ms, commands }: Pick<RunFrame, "batch" | "expires_at_ms" | "commands">,
  digests: readonly string[] = commands.map(({ command }) => hash("sha256", command)),
): string {
  const head = `relay.verdict.v1\n${agentId}\n${nonce}\n${batch}\n${expires_at_ms}\n`;
  return head + commands.map((order, at) => orderLine(order, digests[at]!)).join("");
}

function orderLine(order: CommandOrder, sha256: string): string {
  const { command_id, timeout_ms, max_output_bytes, policy_version } = order;
  return `${command_id} ${sha256} ${timeout_ms} ${max_output_bytes} ${policy_version}\n`;
}

const POLICY_VERSION_CHARS = 16;

/** The policies sent to an agent, as the digest of their canonical JSON. */
export function policyText(
  { agentId, nonce }: LinkIdentity,
  { serial, policy_version, policies }: Omit<PolicyFrame, "type" | "signature">,
): string {
  const sha256 = hash("sha256", canonicalJson(policies));
  return `relay.policy.v1\n${agentId}\n${nonce}\n${serial}\n${policy_version} ${sha256}\n`;
}

/** The version of a set of policies: the start of the same digest. */
export const policyVersionOf = (policies: PolicyFrame["policies"]): string =>
  hash("sha256", canonicalJson(policies)).slice(0, POLICY_VERSION_CHARS);

/** The version that an agent holds when no policy concerns it. */
export const NO_POLICY_VERSION = policyVersionOf([]);

/** The relay's order to transfer one archive once, on this link. */
export function transferText(
  { agentId, nonce }: LinkIdentity,
  { serial, job_id, kind, sha256, stored_bytes }: Omit<TransferFrame, "type" | "signature">,
): string {
  return `relay.transfer.v1\n${agentId}\n${nonce}\n${serial}\n` +
    `${kind} ${job_id} ${sha256 ?? "-"} ${stored_bytes}\n`;
}

/** The relay's order to replace the agent's program once, on this link, until it expires. */
export function upgradeText(
  { agentId, nonce }: LinkIdentity,
  order: Omit<UpgradeFrame, "type" | "signature">,
): string {
  const { serial, expires_at_ms, job_id, version, platform, sha256, bytes } = order;
  return `relay.upgrade.v1\n${agentId}\n${nonce}\n${serial}\n${expires_at_ms}\n` +
    `${job_id} ${version} ${platform} ${sha256} ${bytes}\n`;
}

/** Digests of a command's whole output, signed with its result. */
export interface OutputDigests {
  readonly stdout: string;
  readonly stderr: string;
}

/** The output digests that a result claims. */
export function claimedDigests(result: CommandResult): OutputDigests {
  return {
    stdout: result.stdout_sha256 ?? digestOf(result.stdout ?? ""),
    stderr: result.stderr_sha256 ?? digestOf(result.stderr ?? ""),
  };
}

const digestOf = (text: string) => text === "" ? EMPTY_SHA256 : hash("sha256", text);

/** The agent's receipt for results, with its lines in ascending order. */
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

/** Checks a signature; other encodings of the same signature are refused. */
export function verifiesText(key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, "base64url");
  return bytes.length === SIGNATURE_BYTES && bytes.toString("base64url") === signature &&
    verify(null, Buffer.from(text), key, bytes);
}

/** A public key from its 32 raw bytes, base64url; null when they are not a key. */
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
  if (x === undefined) throw new TypeError("not an Ed25519 key");
  return x;
}
