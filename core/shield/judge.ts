import type { AgentRecord } from "../../kv/records/agent.ts";
import type { ShieldSettingsRecord } from "../../kv/records/shield.ts";
import { inspectForAgent } from "./remember.ts";
import type { ShieldResult } from "./result.ts";
import { modeFor } from "./settings.ts";

/** The verdict that binds: what the layers found, under the mode of the agent. */
export function judgeForAgent(
  command: string,
  { id, labels }: Pick<AgentRecord, "id" | "labels">,
  settings: ShieldSettingsRecord,
): ShieldResult {
  const mode = modeFor(settings, id);
  const found = inspectForAgent(command, labels);
  if (mode === "enforce" || found.verdict === "allow") return found;
  const explanation =
    `Not enforced (mode ${mode}, would be ${found.verdict}): ${found.explanation}`;
  return { ...found, verdict: "allow", explanation };
}
