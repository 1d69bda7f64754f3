import { decide } from "./decide.ts";
import { examineCommand } from "./examine.ts";
import type { Policy } from "./policy/policy.ts";
import type { Who } from "./policy/policy_context.ts";
import type { ShieldResult } from "./model.ts";

/** Where the command would run, and who asks for it. */
export interface ShieldContext {
  /** The agent's labels; `env=prod` raises scores. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly policy?: Policy | null;
  readonly who?: Who | null;
  /** Milliseconds since the Unix epoch; a policy's rules about hours match nothing without it. */
  readonly atMs?: number | null;
}

/**
 * Judges a shell command without running it: policy, patterns and structure. Never throws, takes time
 * linear in the command, and never allows what it cannot read or finish reading.
 */
export function inspectCommand(
  command: string,
  { labels = {}, policy = null, who = null, atMs = null }: ShieldContext = {},
): ShieldResult {
  return decide(examineCommand(command), policy, { labels, who, atMs }).result;
}
