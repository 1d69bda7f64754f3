import { z } from "zod";
import { SHIELD_MODES } from "../../../kv/records/shield.ts";
import { checkPolicy, Labels, POLICY_FIELDS, RuleName, Words } from "../../shield/shield.ts";

const DESCRIPTION_CHARS_MAX = 1024;
const RETENTION_DAYS_MAX = 3650;

/** The contents of a policy file. */
export const PolicyDocument = z.strictObject({
  name: RuleName.optional().describe(
    "The policy's name in rules and events; by default the file's name without its extension.",
  ),
  description: z.string().max(DESCRIPTION_CHARS_MAX).optional(),
  agents: z.strictObject({
    labels: Labels.describe("Labels that an agent must have."),
  }).optional().describe("The agents that the policy applies to; all agents by default."),
  mode: z.enum(SHIELD_MODES).optional().describe(
    "The mode for these agents, which overrides the shield's settings; among several " +
      "policies the strictest mode wins.",
  ),
  ...POLICY_FIELDS,
  tools: z.strictObject({
    allow: Words.describe("Program names without folders; `*` and `?` are wildcards."),
    otherwise: z.enum(["deny", "approve"]).default("deny").describe(
      "The verdict for all other programs.",
    ),
  }).optional().describe("The only programs that may run, including inside wrappers."),
  output: z.strictObject({
    retention_days: z.int().min(1).max(RETENTION_DAYS_MAX),
  }).optional().describe("The retention of commands and their output."),
}).superRefine(checkPolicy).meta({
  title: "A policy file of Relay",
});
export type PolicyDocument = z.infer<typeof PolicyDocument>;

/** A policy document with its name. */
export type NamedDocument = PolicyDocument & { readonly name: string };

/** The JSON Schema of a policy file, for editors. */
export const policyJsonSchema = (): Record<string, unknown> =>
  z.toJSONSchema(PolicyDocument, { io: "input" }) as Record<string, unknown>;
