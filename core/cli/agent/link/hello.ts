import { challengeText } from "../../../protocol/statements.ts";
import {
  type AgentFacts,
  agentFacts,
  type HelloFrame,
  MAX_NAMED_COMMANDS,
  rawKey,
} from "../../../protocol/protocol.ts";
import type { Identity } from "../identity.ts";
import type { AgentHost, AgentOptions } from "../interfaces.ts";

/** What the agent says of itself, or a sentence that tells which option does not fit the protocol. */
export function describeAgent(
  options: Pick<AgentOptions, "name" | "labels">,
  host: Pick<AgentHost, "machine">,
): AgentFacts | { failure: string } {
  const { version, platform, hostname } = host.machine;
  const facts = agentFacts.safeParse({
    name: options.name ?? hostname,
    version,
    platform,
    hostname,
    labels: options.labels ?? {},
  });
  if (facts.success) return facts.data;
  const issue = facts.error.issues[0];
  return { failure: `The agent's ${issue?.path.join(".")} is not accepted: ${issue?.message}.` };
}

/** What the agent tells of itself in answer to a challenge. */
export interface Introduction {
  readonly facts: AgentFacts;
  readonly challenge: string;
  readonly nonce: string;
  /** The commands that it answers for. */
  readonly commandIds: readonly string[];
  /** The name of the policies that it holds. */
  readonly policyVersion: string | undefined;
  /** Rows of the audit log that the checkpoint which it keeps speaks of; 0 for none. */
  readonly witnessed: number;
  /** The verdict key that it has pinned. */
  readonly pinnedKey: string | null;
}

/** The text of `hello`, which proves that the agent has its key. */
export function writeHello(
  identity: Identity,
  { facts, challenge, nonce, commandIds, policyVersion, witnessed, pinnedKey }: Introduction,
): string {
  const frame: HelloFrame = {
    type: "hello",
    agent: facts,
    public_key: identity.publicKey,
    signature: identity.sign(challengeText(challenge)),
    running: [...new Set(commandIds)].slice(0, MAX_NAMED_COMMANDS),
    nonce,
    ...(policyVersion !== undefined && { policy_version: policyVersion }),
    ...(witnessed > 0 && { witnessed }),
    // What is no key fits no relay's, which then says so.
    verdict_key: rawKey.safeParse(pinnedKey).data ?? null,
  };
  return JSON.stringify(frame);
}
