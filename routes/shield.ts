import { z } from "zod";
import { atMost } from "../core/codec/codec.ts";
import { evaluateCommands, replayPolicy, runCanary } from "../core/commands/commands.ts";
import { Policy, ShieldLayer, ShieldResult, Verdict } from "../core/shield/shield.ts";
import { CanaryStatus } from "./gitops_agents.ts";
import { route } from "./call/route.ts";
import { excludes, Id, POLICY_RULE, ShieldMode, Timestamp } from "./schemas/schemas.ts";

const COMMANDS_MAX = 1_000;
const LABELS_MAX = 64;
/** The most commands in one replay. */
export const REPLAY_MAX = 10_000;
/** Above the longest inspected command, so that callers can try the limit itself. */
const COMMAND_CHARS_MAX = 128 * 1024;
const EVALUATE_BYTES_MAX = 4 * 1024 * 1024;

const EvaluateBody = z.strictObject({
  commands: atMost(
    COMMANDS_MAX,
    z.array(z.string().max(COMMAND_CHARS_MAX)).min(1).max(COMMANDS_MAX),
  ).optional().describe("Lines to judge, each for itself."),
  labels: atMost(LABELS_MAX, z.record(z.string().max(256), z.string().max(256))).optional()
    .describe("Labels of the agent that they would run on."),
  policy: Policy.nullable().optional().describe("The one in force unless said; null for none."),
  replay: z.int().min(1).max(REPLAY_MAX).optional()
    .describe("How many of the last audited commands to judge by `policy`."),
}).superRefine(({ commands, labels, replay, policy }, context) => {
  const complain = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  if ((commands === undefined) === (replay === undefined)) {
    complain("commands", "give either `commands` or `replay`");
  }
  if (replay !== undefined && policy === undefined) {
    complain("policy", "is missing: a replay judges by it");
  }
  if (replay !== undefined && labels !== undefined) {
    complain("labels", "must be left out: a replay takes those of the agents");
  }
}).meta({
  ...excludes("replay", "commands", "labels"),
  dependentRequired: { replay: ["policy"] },
});

const Evaluated = ShieldResult.extend({ command: z.string() }).meta({ id: "EvaluatedCommand" });
const Evaluation = z.object({ results: z.array(Evaluated) }).meta({ id: "Evaluation" });
/** The verdicts of a candidate on the last commands. */
export const Replay = z.object({
  replayed: z.int().describe("Commands that were judged."),
  changed: z.array(Evaluated.extend({
    agent_id: z.string().nullable(),
    command_id: z.string(),
    at: Timestamp,
    recorded: Verdict.describe("What became of it then."),
    before: Verdict.describe("What the policy in force says of it."),
  })).describe("Those whose verdict the candidate changes, newest first."),
  counts: z.object({ allow: z.int(), approve: z.int(), deny: z.int() })
    .describe("Verdicts of the candidate."),
  scanned: z.int().describe("Rows of the log that were looked at."),
  skipped: z.int().describe("Commands whose whole text is kept no more."),
  complete: z.boolean().describe("False when the log goes on beyond the rows of one replay."),
}).meta({ id: "Replay" });

const CanaryReport = z.object({
  status: CanaryStatus,
  failed: z.array(z.string()).describe("The layers that failed, and `agent`."),
  mode: ShieldMode.describe("The organization's; the checks are not bound by it."),
  layers: z.array(z.object({
    layer: ShieldLayer,
    passed: z.boolean(),
    checks: z.int(),
    failures: z.array(z.object({
      command: z.string(),
      expected: z.enum(["allow", "approve", "deny", "stopped"]),
      verdict: Verdict,
    })),
    switched_off: z.array(z.string())
      .describe("Commands that pass because the patterns that would stop them are switched off."),
  })),
  agent: z.object({
    agent_id: z.string(),
    passed: z.boolean(),
    command_id: z.string().nullable(),
    status: z.string(),
    reason: z.string().nullable(),
  }).nullable(),
}).meta({ id: "CanaryReport" });

export const shieldRoutes = [
  route({
    id: "shield.evaluate",
    method: "POST",
    path: "/api/shield/evaluate",
    summary: "Judge commands without running them, or replay the last ones by another policy",
    description:
      "Nothing is executed or stored. Modes and the behaviour layer take no part: the first would " +
      "hide verdicts, the second judges sessions.",
    access: { scope: "system:read" },
    effect: "read",
    body: EvaluateBody,
    bodyBytesMax: EVALUATE_BYTES_MAX,
    rules: {
      "body.commands": "is there unless `replay` is",
      "body.policy": POLICY_RULE,
    },
    success: { status: 200, body: z.union([Evaluation, Replay]) },
    faults: [],
    tool: { destructive: false },
    handle: (work, { body: { commands, replay, labels, policy } }, { policyCache }) =>
      replay === undefined
        ? evaluateCommands(work, policyCache, { commands: commands ?? [], labels, policy })
        : replayPolicy(work, policyCache, replay, policy ?? null),
  }),
  route({
    id: "shield.canary",
    method: "POST",
    path: "/api/shield/canary",
    summary: "Check every layer of the shield, and the way to an agent",
    description:
      "Dangerous and harmless commands go through each layer; with `agent_id` a command that does " +
      "nothing runs on that agent. Anything that is not as it must be answers 503 CANARY_FAILED with " +
      "the report in `details.canary`, so that no monitor takes it for a success.",
    access: { scope: "system:write" },
    effect: "steps",
    audit: { byRule: "canary_run" },
    body: z.strictObject({ agent_id: Id.optional() }),
    success: { status: 200, body: CanaryReport },
    faults: ["CANARY_FAILED", "AGENT_NOT_FOUND"],
    tool: { destructive: false },
    handle: (work, { body }, relay) => runCanary(work, relay, body.agent_id ?? null),
  }),
];
