import {
  type AgentFacts,
  agentFacts,
  challengeText,
  type HelloFrame,
  MAX_NAMED_COMMANDS,
  type ProgramFacts,
  rawKey,
} from "../../../protocol/protocol.ts";
import type { Identity } from "../identity.ts";
import type { AgentHost, AgentOptions } from "../interfaces.ts";

/** The agent's facts, or a sentence about the option that does not fit the protocol. */
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

/** The inputs of `hello`. */
export interface Introduction {
  readonly facts: AgentFacts;
  readonly challenge: string;
  readonly nonce: string;
  /** Commands that run, or whose results are unsent. */
  readonly commandIds: readonly string[];
  /** The version of the stored policies. */
  readonly policyVersion: string | undefined;
  /** The size of the audit log in the stored checkpoint; 0 for none. */
  readonly witnessed: number;
  readonly program: ProgramFacts;
  /** The pinned verdict key. */
  readonly pinnedKey: string | null;
}

/** The text of `hello`, which proves that the agent has its key. */
export function writeHello(
  identity: Identity,
  { facts, challenge, nonce, commandIds, policyVersion, witnessed, program, pinnedKey }:
    Introduction,
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
    program,
    // A malformed key matches no relay's key, and the relay says so.
    verdict_key: rawKey.safeParse(pinnedKey).data ?? null,
  };
  return JSON.stringify(frame);
}
