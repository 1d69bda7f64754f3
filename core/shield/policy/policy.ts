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
const LINE_MAX = 4 * 1024;
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
      context.addIssue("must not hold the key __proto__");
    }
    return labels;
  }, z.record(Text, Text)),
);
/** The id of a rule, and the name of a policy. */
export const RuleName = z.string().regex(
  /^[a-z0-9][a-z0-9_.-]{0,63}$/,
  "must be lower case, at most 64 characters",
);
/** The id of a built-in rule. */
export const RuleId = Text.refine((id) => KNOWN.has(id), "is not a rule of the shield");

const Clock = z.string().regex(
  /^([01][0-9]|2[0-3]):[0-5][0-9]$/,
  "must be a time of day such as 08:30",
);
const Weekday = z.enum(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]).meta({ id: "Weekday" });
const Hours = z.strictObject({
  from: Clock,
  to: Clock.describe("The end. If it is not after `from`, the period runs past midnight."),
  days: z.array(Weekday).min(1).optional()
    .describe("The days on which the period begins; every day by default."),
  timezone: Text.refine(isTimeZone, "is not an IANA time zone").optional().describe(
    "The IANA time zone; UTC by default.",
  ),
});
export type Hours = z.infer<typeof Hours>;

const Match = z.strictObject({
  commands: Words.optional().describe("Program names without folders; `*` and `?` are wildcards."),
  other_commands: Words.optional().describe(
    "Program names without folders: matches every program that none of them matches, " +
      "including programs with unknown names.",
  ),
  arguments: Words.optional().describe(
    "Arguments that must all be present; `*` and `?` are wildcards, and `-r` also matches " +
      "`-rf`.",
  ),
  lines: z.array(z.string().min(1).max(LINE_MAX)).min(1).max(WORDS_MAX).optional().describe(
    "Whole command lines: the command is exactly one of these.",
  ),
  exact: z.boolean().optional().describe("True allows no arguments except those in `arguments`."),
  paths: Words.optional().describe(
    "Globs: `*` matches within a folder, `**` across folders. A rule that denies or requires " +
      "approval matches if one path matches. A rule that allows matches only if every operand " +
      "that `arguments` does not name matches.",
  ),
  rule_ids: z.array(RuleId).min(1).max(WORDS_MAX).optional(),
  packs: z.array(PackName).min(1).optional(),
  labels: Labels.optional().describe("Labels that the agent must have."),
  roles: Words.optional().describe("The requester must have one of these roles."),
  users: Words.optional().describe(
    "The requester must be one of these users, or use one of these API keys.",
  ),
  hours: Hours.optional(),
});

const PolicyRule = z.strictObject({
  id: RuleName,
  description: Text.optional(),
  match: Match.describe(
    "The conditions, all of which must hold; an empty object matches every command.",
  ),
  verdict: Verdict,
  approvals: z.strictObject({
    required: z.int().min(1).max(10).optional(),
    roles: z.array(z.string().min(1).max(64)).max(16).optional(),
  }).optional().describe("The required approvals, instead of those in the settings."),
});
export type PolicyRule = z.infer<typeof PolicyRule> & {
  /** The name of the applied policy that it comes from; the shield's own policy has none. */
  readonly policy?: string;
};

const PolicyTest = z.strictObject({
  command: z.string().max(TEST_CHARS_MAX),
  labels: Labels.optional().describe("The agent's labels."),
  user: Text.optional().describe("The requester's id."),
  roles: Words.optional().describe("The requester's roles."),
  at: z.iso.datetime({ offset: true }).optional()
    .describe("The time of the command; without it, rules with hours do not match."),
  expect: Verdict,
});
export type PolicyTest = z.infer<typeof PolicyTest>;

/** What every policy may say of commands, wherever it is written. */
export const POLICY_FIELDS = {
  rules: atMost(RULES_MAX, z.array(PolicyRule).max(RULES_MAX)).default([]),
  thresholds: z.strictObject({
    approve: z.int().min(1).max(100).default(APPROVE_SCORE),
    deny: z.int().min(1).max(101).default(DENY_SCORE).describe(
      "The score from which commands are denied; 101 denies none by score.",
    ),
  }).optional(),
  disabled_packs: z.array(PackName).max(PACKS.length).optional()
    .describe("Packs whose rules are disabled, except the rules for unreadable commands."),
  disabled_rules: z.array(RuleId.refine((id) => !FIXED.has(id), "cannot be disabled")).max(
    WORDS_MAX,
  )
    .optional(),
  watched_packs: z.array(PackName).max(PACKS.length).optional()
    .describe("Packs whose rules only watch: results name them, and they decide nothing."),
  watched_rules: z.array(RuleId.refine((id) => !FIXED.has(id), "cannot only watch")).max(WORDS_MAX)
    .optional(),
  tests: atMost(TESTS_MAX, z.array(PolicyTest).max(TESTS_MAX)).optional()
    .describe("Tests that run when the policy is applied; if one fails, the policy is refused."),
};

type Fields = z.infer<z.ZodObject<typeof POLICY_FIELDS>>;

/** Checks what concerns several fields. */
export function checkPolicy(policy: Fields, context: z.RefinementCtx): void {
  const complain = (path: (string | number)[], message: string) =>
    context.addIssue({ code: "custom", path, message });
  const seen = new Set<string>();
  for (const [i, { id }] of policy.rules.entries()) {
    if (seen.has(id)) complain(["rules", i, "id"], "is given twice");
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
  version: Text.optional().describe("A name for people; Relay does not use it."),
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
