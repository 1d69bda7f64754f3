import { z } from "zod";
import { atMost } from "../core/protocol/protocol.ts";
import { evaluateCommands, replayCandidate, runCanary } from "../core/agents/agents.ts";
import { Policy, ShieldLayer, ShieldResult, Verdict } from "../core/shield/shield.ts";
import { CanaryStatus } from "./gitops_agents.ts";
import { route } from "./call/route.ts";
import { PatternChange } from "./patterns.ts";
import { AgentRef, excludes, POLICY_RULE, ShieldMode, Timestamp } from "./schemas/schemas.ts";

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
  ).optional().describe("Command lines to judge separately."),
  labels: atMost(LABELS_MAX, z.record(z.string().max(256), z.string().max(256))).optional()
    .describe("The labels of the target agent."),
  policy: Policy.nullable().optional().describe(
    "The policy to judge by; by default the one in force, null for none.",
  ),
  patterns: PatternChange.optional().describe(
    "Switches of built-in rules, on top of those in the settings.",
  ),
  replay: z.int().min(1).max(REPLAY_MAX).optional()
    .describe("The number of recent audited commands to judge by `policy` or `patterns`."),
}).superRefine(({ commands, labels, replay, policy, patterns }, context) => {
  const complain = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  if ((commands === undefined) === (replay === undefined)) {
    complain("commands", "give either `commands` or `replay`");
  }
  if (replay !== undefined && policy === undefined && patterns === undefined) {
    complain("policy", "is missing: a replay needs `policy` or `patterns`");
  }
  if (replay !== undefined && labels !== undefined) {
    complain("labels", "must be left out: a replay uses the labels of the agents");
  }
}).meta({
  ...excludes("replay", "commands", "labels"),
});

const Evaluated = ShieldResult.extend({ command: z.string() }).meta({ id: "EvaluatedCommand" });
const Evaluation = z.object({ results: z.array(Evaluated) }).meta({ id: "Evaluation" });
/** The verdicts of a candidate, a policy or switches, on the last commands. */
export const Replay = z.object({
  replayed: z.int().describe("The number of commands judged."),
  changed: z.array(Evaluated.extend({
    agent_id: z.string().nullable(),
    command_id: z.string(),
    at: Timestamp,
    recorded: Verdict.describe("The recorded outcome."),
    before: Verdict.describe("The verdict of the policy in force."),
  })).describe("Commands whose verdict the candidate changes, newest first."),
  counts: z.object({ allow: z.int(), approve: z.int(), deny: z.int() })
    .describe("The candidate's verdicts, counted."),
  scanned: z.int().describe("The number of log rows examined."),
  skipped: z.int().describe("The number of commands whose full text is no longer kept."),
  complete: z.boolean().describe("False when the log has more rows than one replay examines."),
}).meta({ id: "Replay" });

const CanaryReport = z.object({
  status: CanaryStatus,
  failed: z.array(z.string()).describe(
    "The failed layers; `agent` stands for the command on the agent.",
  ),
  mode: ShieldMode.describe("The organization's mode; it does not affect the checks."),
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
      .describe(
        "Commands that pass because the rules that would stop them are disabled or only watch.",
      ),
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
    summary: "Evaluate commands without running them",
    description:
      "Judges the given commands, or replays recent audited commands with another policy or other switches. " +
      "Nothing is executed or stored. Modes and the behaviour layer are left out: modes would " +
      "hide verdicts, and the behaviour layer judges sessions.",
    access: { scope: "system:read" },
    effect: "read",
    body: EvaluateBody,
    bodyBytesMax: EVALUATE_BYTES_MAX,
    rules: {
      "body.commands": "is required unless `replay` is given",
      "body.policy": POLICY_RULE,
      "body.patterns": "must name packs and rules of the list that can be switched",
    },
    success: { status: 200, body: z.union([Evaluation, Replay]) },
    faults: [],
    tool: { name: "evaluate_command", destructive: false },
    handle: (work, { body: { commands = [], replay, labels, ...by } }, { policyCache }) =>
      replay === undefined
        ? evaluateCommands(work, policyCache, { ...by, commands, labels })
        : replayCandidate(work, policyCache, replay, by),
  }),
  route({
    id: "shield.canary",
    method: "POST",
    path: "/api/shield/canary",
    summary: "Test every layer of the shield",
    description:
      "Sends dangerous and harmless commands through each layer. With `agent_id` it also runs " +
      "a harmless command on that agent. Any failure returns 503 CANARY_FAILED with the report " +
      "in `details.canary`, so that monitors notice it.",
    access: { scope: "system:write" },
    effect: "steps",
    audit: { byRule: "canary_run" },
    agent: "agent_id",
    body: z.strictObject({ agent_id: AgentRef.optional() }),
    success: { status: 200, body: CanaryReport },
    faults: ["CANARY_FAILED", "AGENT_NOT_FOUND"],
    tool: { name: "test_shield", destructive: false },
    handle: (work, { body }, relay) => runCanary(work, relay, body.agent_id ?? null),
  }),
];
