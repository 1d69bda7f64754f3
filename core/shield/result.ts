import { z } from "zod";
import { deepFreeze } from "../../kv/store/collection.ts";

/** From this score on a person must approve the command. */
export const APPROVE_SCORE = 30;
/** From this score on the command is refused, and cannot be approved. */
export const DENY_SCORE = 70;

/** What the shield says about one command. */
export const Verdict = z.enum(["allow", "approve", "deny"]).meta({ id: "Verdict" });
export type Verdict = z.infer<typeof Verdict>;

/** The layer that decided: the organization's policy, a rule pack, the parsed structure, or a chain over a session. */
export const ShieldLayer = z.enum(["policy", "patterns", "structure", "behaviour"])
  .meta({ id: "ShieldLayer" });
export type ShieldLayer = z.infer<typeof ShieldLayer>;

const Span = z.object({ start: z.int().min(0), end: z.int().min(0) }).meta({ id: "Span" });

/** The shield's answer for one command; offsets of `span` are UTF-16 units of the command as given. */
export const ShieldResult = z.object({
  verdict: Verdict,
  risk_score: z.int().min(0).max(100).describe("Blast radius × irreversibility of what was found."),
  threats: z.array(z.string()).describe("Kinds of harm, the worst first."),
  layer: ShieldLayer,
  rule_ids: z.array(z.string()).describe("Stable ids of the rules that matched, the worst first."),
  explanation: z.string().describe("Why, in a sentence for people."),
  safer_alternative: z.string().nullable(),
  span: Span.nullable()
    .describe("The part of the command that the worst finding is about."),
}).meta({ id: "ShieldResult" });
export type ShieldResult = z.infer<typeof ShieldResult>;

/** What it says of most commands. */
export const HARMLESS: ShieldResult = deepFreeze({
  verdict: "allow",
  risk_score: 0,
  threats: [],
  layer: "structure",
  rule_ids: [],
  explanation: "Nothing harmful was found.",
  safer_alternative: null,
  span: null,
});
