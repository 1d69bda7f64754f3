import { z } from "zod";
import { collection } from "../store/collection.ts";

/** An audited action that may have caused a change. */
export const ActionRef = z.strictObject({
  event_id: z.string(),
  event_type: z.string(),
  actor: z.string(),
  at_ms: z.number(),
});
export type ActionRef = z.infer<typeof ActionRef>;

/** The state that an agent last reported, and its drift from what was applied. */
export const AgentStateRecord = z.strictObject({
  /** The agent's id. */
  id: z.string(),
  policy_version: z.string().nullable(),
  policies: z.array(z.strictObject({ name: z.string(), sha256: z.string() })),
  files: z.strictObject({ count: z.int(), bytes: z.int(), sha256: z.string() }).nullable(),
  roots: z.array(z.string()),
  problem: z.string().nullable(),
  verdicts: z.strictObject({
    verified: z.int(),
    refused: z.int(),
    last_refusal: z.string().nullable(),
  }),
  /** When it first reported this state. */
  reported_at_ms: z.number(),
  drift: z.array(z.strictObject({
    item: z.string(),
    status: z.enum(["changed", "missing", "unexpected"]),
    since_ms: z.number(),
    by: ActionRef.nullable(),
  })),
});
export type AgentStateRecord = z.infer<typeof AgentStateRecord>;

export const agentStates = collection({ name: "agent_states", schema: AgentStateRecord });

/** The last run of the shield's canary: one record for the organization and one for each agent that ran it. */
const CanaryRunRecord = z.strictObject({
  id: z.string(),
  at_ms: z.number(),
  by: z.string(),
  status: z.enum(["passed", "failed"]),
  failed: z.array(z.string()),
});

export const canaryRuns = collection({ name: "canary_runs", schema: CanaryRunRecord });
