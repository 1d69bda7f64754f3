import { z } from "zod";
import { collection } from "../store/collection.ts";

export const SHIELD_MODES = ["enforce", "observe", "off"] as const;
export type ShieldMode = (typeof SHIELD_MODES)[number];

/** A tenant's shield settings. Every tenant has exactly one record from its creation. */
export const ShieldSettingsRecord = z.strictObject({
  id: z.literal("shield"),
  mode: z.enum(SHIELD_MODES),
  /** Modes of single agents, by id. */
  agent_modes: z.record(z.string(), z.enum(SHIELD_MODES)),
  approvals: z.strictObject({
    /** How many people must approve. */
    required: z.int(),
    /** A decision needs one of these roles; when empty, only the scope. */
    roles: z.array(z.string()),
    self_approval: z.boolean(),
    expires_seconds: z.int(),
  }),
  /** Built-in rules that are disabled or only watch: whole packs and single rules. */
  patterns: z.strictObject({
    disabled_packs: z.array(z.string()),
    disabled_rules: z.array(z.string()),
    // absent in settings of earlier versions, which did not have the rules of `production`
    watched_packs: z.array(z.string()).default(["production"]),
    watched_rules: z.array(z.string()).default([]),
  }),
  /** The organization's own rules. Their schema is in core/. */
  policy: z.unknown(),
  /** Digest of all of the above, to which verdicts and approvals are bound. */
  version: z.string(),
});
export type ShieldSettingsRecord = z.infer<typeof ShieldSettingsRecord>;

export const shieldSettings = collection({
  name: "shield_settings",
  schema: ShieldSettingsRecord,
  cached: 20_000,
});

/** The state that one session's commands left, stored when several instances judge them. core/ checks its parts. */
const ShieldSessionRecord = z.strictObject({
  /** The session and the agent. */
  id: z.string(),
  files: z.array(z.tuple([z.string(), z.unknown()])),
  defenses_down: z.strictObject({ step: z.string(), atMs: z.number() }).nullable(),
  expires_at_ms: z.number(),
});
export type ShieldSessionRecord = z.infer<typeof ShieldSessionRecord>;

export const shieldSessions = collection({
  name: "shield_sessions",
  schema: ShieldSessionRecord,
  expiresAt: (session) => session.expires_at_ms,
});

/** A request to turn on self-approval, which a second administrator must confirm. */
const SelfApprovalChangeRecord = z.strictObject({
  id: z.literal("self_approval"),
  /** Identifies this request; a later one has another id. */
  change_id: z.string(),
  requested_by: z.string(),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
});
export type SelfApprovalChangeRecord = z.infer<typeof SelfApprovalChangeRecord>;

export const selfApprovalChanges = collection({
  name: "self_approval_changes",
  schema: SelfApprovalChangeRecord,
  expiresAt: (change) => change.expires_at_ms,
});
