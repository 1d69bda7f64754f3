import { z } from "zod";
import { atMost } from "./at_most.ts";
import { isTimeZone } from "./local_time.ts";
import { APPROVE_SCORE, DENY_SCORE, type Pack, Verdict } from "../model.ts";
import { RULES } from "../packs/packs.ts";
import { OVER_BUDGET, UNPARSEABLE } from "../packs/structure.ts";

/** A whole policy document, as JSON, in bytes of UTF-8. */
const POLICY_BYTES_MAX = 32 * 1024;
const RULES_MAX = 200;
const TESTS_MAX = 100;
const WORDS_MAX = 64;
const TEXT_MAX = 256;
const TEST_CHARS_MAX = 4096;

/** The names of all packs. */
export const PACKS = [...new Set(RULES.map((rule) => rule.pack))] as [Pack, ...Pack[]];
const KNOWN = new Set(RULES.map((rule) => rule.id));
/** Rules about unreadable commands, which no policy can disable. */
export const FIXED: ReadonlySet<string> = new Set([UNPARSEABLE.id, OVER_BUDGET.id]);

/** The name of a pack. */
export const PackName = z.enum(PACKS).meta({ id: "PackName" });

const Text = z.string().min(1).max(TEXT_MAX);
/** A list of names or patterns. */
export const Words = z.array(Text).min(1).max(WORDS_MAX);
/** Labels that an agent has or must have. */
export const Labels = atMost(
  WORDS_MAX,
  z.preprocess((labels, context) => {
    // zod drops this key: a rule would lose its condition and concern every agent.
    if (Object.hasOwn(Object(labels), "__proto__")) {
      context.addIssue("the key __proto__ is not read");
    }
    return labels;
  }, z.record(Text, Text)),
);
/** The id of a rule, and the name of a policy. */
export const RuleName = z.string().regex(
  /^[a-z0-9][a-z0-9_.-]{0,63}$/,
  "is lower case, at most 64 characters",
);
/** The id of a built-in rule. */
export const RuleId = Text.refine((id) => KNOWN.has(id), "is no rule of the shield");

const Clock = z.string().regex(
  /^([01][0-9]|2[0-3]):[0-5][0-9]$/,
  "must be a time of day such as 08:30",
);
const Weekday = z.enum(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]).meta({ id: "Weekday" });
const Hours = z.strictObject({
  from: Clock,
  to: Clock.describe("At or before `from`: it runs over midnight."),
  days: z.array(Weekday).min(1).optional()
    .describe("Days on which it begins; all of them unless said."),
  timezone: Text.refine(isTimeZone, "is no time zone").optional().describe("UTC unless said."),
});
export type Hours = z.infer<typeof Hours>;

const Match = z.strictObject({
  commands: Words.optional().describe("Names of programs, without folders; `*` and `?` may stand."),
  other_commands: Words.optional().describe(
    "Names of programs: every program that none of them matches, also one whose name is not known.",
  ),
  arguments: Words.optional().describe(
    "Each must be among the arguments; `*` and `?` may stand, `-r` is also found in `-rf`.",
  ),
  exact: z.boolean().optional().describe("No argument may stand beside `arguments`."),
  paths: Words.optional().describe(
    "Globs: `*` within a folder, `**` over folders. To deny or approve, one path in them is enough; " +
      "to allow, every operand that `arguments` does not name must lie in them.",
  ),
  rule_ids: z.array(RuleId).min(1).max(WORDS_MAX).optional(),
  packs: z.array(PackName).min(1).optional(),
  labels: Labels.optional().describe("Labels that the agent must have."),
  roles: Words.optional().describe("One of these roles has whoever asks."),
  users: Words.optional().describe("Ids of users, or of their API keys."),
  hours: Hours.optional(),
});

const PolicyRule = z.strictObject({
  id: RuleName,
  description: Text.optional(),
  match: Match.describe("All that is said must hold; an empty one matches everything."),
  verdict: Verdict,
  approvals: z.strictObject({
    required: z.int().min(1).max(10).optional(),
    roles: z.array(z.string().min(1).max(64)).max(16).optional(),
  }).optional().describe("Who approves, instead of what the settings say."),
});
export type PolicyRule = z.infer<typeof PolicyRule> & {
  /** The name of the applied policy that it comes from; the shield's own policy has none. */
  readonly policy?: string;
};

const PolicyTest = z.strictObject({
  command: z.string().max(TEST_CHARS_MAX),
  labels: Labels.optional().describe("Labels of the agent."),
  user: Text.optional().describe("The id of who asks."),
  roles: Words.optional().describe("The roles of who asks."),
  at: z.iso.datetime({ offset: true }).optional()
    .describe("When; rules about hours match nothing without it."),
  expect: Verdict,
});
export type PolicyTest = z.infer<typeof PolicyTest>;

/** What every policy may say of commands, wherever it is written. */
export const POLICY_FIELDS = {
  rules: atMost(RULES_MAX, z.array(PolicyRule).max(RULES_MAX)).default([]),
  thresholds: z.strictObject({
    approve: z.int().min(1).max(100).default(APPROVE_SCORE),
    deny: z.int().min(1).max(101).default(DENY_SCORE).describe("101 refuses nothing by its score."),
  }).optional(),
  disabled_packs: z.array(PackName).max(PACKS.length).optional()
    .describe("Packs whose rules do not count, but for what nobody could read."),
  disabled_rules: z.array(RuleId.refine((id) => !FIXED.has(id), "cannot be disabled")).max(
    WORDS_MAX,
  )
    .optional(),
  tests: atMost(TESTS_MAX, z.array(PolicyTest).max(TESTS_MAX)).optional()
    .describe("Run when the policy is applied: one that fails refuses it."),
};

type Fields = z.infer<z.ZodObject<typeof POLICY_FIELDS>>;

/** Checks what concerns several fields. */
export function checkPolicy(policy: Fields, context: z.RefinementCtx): void {
  const complain = (path: (string | number)[], message: string) =>
    context.addIssue({ code: "custom", path, message });
  const seen = new Set<string>();
  for (const [i, { id }] of policy.rules.entries()) {
    if (seen.has(id)) complain(["rules", i, "id"], "stands twice");
    seen.add(id);
  }
  const { approve = APPROVE_SCORE, deny = DENY_SCORE } = policy.thresholds ?? {};
  if (approve > deny) complain(["thresholds", "approve"], "must not be above `deny`");
  if (new TextEncoder().encode(JSON.stringify(policy)).length > POLICY_BYTES_MAX) {
    complain([], `must be at most ${POLICY_BYTES_MAX} bytes`);
  }
}

/** An organization's own rules over commands, as `PATCH /api/shield/settings` takes them. */
export const Policy = z.strictObject({
  version: Text.optional().describe("A name for people; nothing depends on it."),
  ...POLICY_FIELDS,
}).superRefine(checkPolicy).meta({ id: "ShieldPolicy" });
export type Policy = z.infer<typeof Policy>;

/** Minutes since midnight of `HH:MM`; null for anything else. */
export function minutesOf(text: string): number | null {
  const [hours = "", minutes = "", more] = text.split(":");
  if (hours.length !== 2 || minutes.length !== 2 || more !== undefined) return null;
  const value = Number(hours) * 60 + Number(minutes);
  return Number(hours) < 24 && Number(minutes) < 60 && value >= 0 ? value : null;
}
