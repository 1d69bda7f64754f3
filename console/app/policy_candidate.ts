import type { ShieldPolicyInput } from "../../core/client/client.ts";

/**
 * The part of a policy file that judges commands, for an evaluation. Its list of tools becomes the rule that the relay
 * makes of it. Its agents, mode, output and tests say nothing about a single verdict.
 */
export function candidateOf(document: Readonly<Record<string, unknown>>): ShieldPolicyInput {
  const { rules = [], tools, ...others } = document as PolicyFile;
  const { thresholds, disabled_packs, disabled_rules, watched_packs, watched_rules } = others;
  const only = tools === undefined ? [] : [{
    id: "tools",
    description: "only the programs of its tools list may run",
    match: { other_commands: tools.allow },
    verdict: tools.otherwise ?? "deny",
  }];
  return {
    rules: [...rules, ...only],
    ...thresholds && { thresholds },
    ...disabled_packs && { disabled_packs },
    ...disabled_rules && { disabled_rules },
    ...watched_packs && { watched_packs },
    ...watched_rules && { watched_rules },
  };
}

interface PolicyFile extends ShieldPolicyInput {
  readonly tools?: {
    readonly allow: readonly string[];
    readonly otherwise?: "deny" | "approve";
  };
}
