import { z } from "zod";
import { SHIELD_MODES } from "../../../kv/records/shield.ts";
import { checkPolicy, Labels, POLICY_FIELDS, RuleName, Words } from "../../shield/shield.ts";

const DESCRIPTION_CHARS_MAX = 1024;
const RETENTION_DAYS_MAX = 3650;

/** The contents of a policy file. */
export const PolicyDocument = z.strictObject({
  name: RuleName.optional().describe(
    "What rules and events call it; the file's name without its ending unless said.",
  ),
  description: z.string().max(DESCRIPTION_CHARS_MAX).optional(),
  agents: z.strictObject({
    labels: Labels.describe("Labels that an agent must have."),
  }).optional().describe("The agents that it concerns; all of them unless said."),
  mode: z.enum(SHIELD_MODES).optional().describe(
    "Whether verdicts bind on these agents. It goes before the shield's settings; of several policies " +
      "the strictest counts.",
  ),
  ...POLICY_FIELDS,
  tools: z.strictObject({
    allow: Words.describe("Names of programs, without folders; `*` and `?` may stand."),
    otherwise: z.enum(["deny", "approve"]).default("deny").describe("What becomes of others."),
  }).optional().describe("The only programs that may run, in whatever they are wrapped."),
  output: z.strictObject({
    retention_days: z.int().min(1).max(RETENTION_DAYS_MAX),
  }).optional().describe("How long commands and their output are kept, at the most."),
}).superRefine(checkPolicy).meta({
  title: "A policy file of Relay",
});
export type PolicyDocument = z.infer<typeof PolicyDocument>;

/** A policy document with its name. */
export type NamedDocument = PolicyDocument & { readonly name: string };

/** The JSON Schema of a policy file, for editors. */
export const policyJsonSchema = (): Record<string, unknown> =>
  z.toJSONSchema(PolicyDocument, { io: "input" }) as Record<string, unknown>;
