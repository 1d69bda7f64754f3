import { challengeText } from "../statements.ts";
import {
  type AgentFacts,
  agentFacts,
  type HelloFrame,
  MAX_NAMED_COMMANDS,
  rawKey,
} from "../protocol.ts";
import type { Identity } from "./identity.ts";
import type { AgentHost, AgentOptions } from "./port.ts";

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

/** The text of `hello`: the agent's facts, its proof of key, its nonce, the commands it answers for, its policies and pins. */
export function writeHello(
  agent: AgentFacts,
  identity: Identity,
  challenge: string,
  nonce: string,
  commandIds: readonly string[],
  policyVersion: string | undefined,
  witnessed: number,
  verdictKey: string | null,
): string {
  const frame: HelloFrame = {
    type: "hello",
    agent,
    public_key: identity.publicKey,
    signature: identity.sign(challengeText(challenge)),
    running: [...new Set(commandIds)].slice(0, MAX_NAMED_COMMANDS),
    nonce,
    ...(policyVersion !== undefined && { policy_version: policyVersion }),
    ...(witnessed > 0 && { witnessed }),
    // What is no key fits no relay's, which then says so.
    verdict_key: rawKey.safeParse(verdictKey).data ?? null,
  };
  return JSON.stringify(frame);
}
