import { createHmac } from "node:crypto";
import type { GitProvider, RepositoryRecord } from "../../../kv/records/gitops.ts";
import type { GitHookHeaders } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { constantTimeEqual, standardKey } from "../../codec/codec.ts";

/** How far the clock of a Standard Webhooks sender may differ. */
const TOLERANCE_MS = 5 * 60 * 1000;
/** Signatures of one push that are checked. */
const SIGNATURES_MAX = 8;

/** How a push proves its sender: by a signature, by a signature with a time, by the secret itself, or not at all. */
export type Proof = "signed" | "dated" | "token" | "none";

/** The body as bytes or as text. */
type Body = string | Uint8Array;
type Check = (secret: string, headers: GitHookHeaders, body: Body, nowMs: number) => Proof | null;

const hex = (secret: string, body: Body) => createHmac("sha256", secret).update(body).digest("hex");

const byHubSignature: Check = (secret, { hubSignature }, body) =>
  hubSignature !== null && constantTimeEqual(hubSignature, `sha256=${hex(secret, body)}`)
    ? "signed"
    : null;

const byGiteaSignature: Check = (secret, { giteaSignature }, body) =>
  giteaSignature !== null && constantTimeEqual(giteaSignature, hex(secret, body)) ? "signed" : null;

const byGitlabToken: Check = (secret, { gitlabToken }) =>
  gitlabToken !== null && constantTimeEqual(gitlabToken, secret) ? "token" : null;

/** Standard Webhooks, whose signature also covers the id and the time. */
const byStandardWebhooks: Check = (secret, headers, body, nowMs) => {
  const { webhookId, webhookTimestamp, webhookSignature } = headers;
  if (webhookId === null || webhookTimestamp === null || webhookSignature === null) return null;
  const atMs = Number(webhookTimestamp) * 1000;
  if (!(Math.abs(nowMs - atMs) <= TOLERANCE_MS)) return null;
  const mac = createHmac("sha256", standardKey(secret))
    .update(`${webhookId}.${webhookTimestamp}.`).update(body);
  const right = `v1,${mac.digest("base64")}`;
  const given = webhookSignature.split(" ").slice(0, SIGNATURES_MAX);
  return given.some((one) => constantTimeEqual(one, right)) ? "dated" : null;
};

/** The checks for each kind of host, in order. */
const CHECKS: Readonly<Record<GitProvider, readonly Check[]>> = {
  github: [byHubSignature],
  gitlab: [byStandardWebhooks, byGitlabToken],
  gitea: [byGiteaSignature, byHubSignature],
  generic: [byHubSignature, byStandardWebhooks],
};

/** The proof of a push; null when the repository has a secret and the push does not prove it. */
export function proofOf(
  { sealer, ports }: Pick<Context, "sealer" | "ports">,
  { id, provider, sealed_webhook_secret: sealed }: RepositoryRecord,
  headers: GitHookHeaders,
  body: Body,
): Proof | null {
  if (sealed === null) return "none";
  const secret = sealer.open(sealed, id);
  const now = ports.clock.now();
  for (const check of CHECKS[provider]) {
    const proof = check(secret, headers, body, now);
    if (proof !== null) return proof;
  }
  return null;
}
