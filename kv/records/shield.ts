import { z } from "zod";
import { collection } from "../store/collection.ts";

export const SHIELD_MODES = ["enforce", "observe", "off"] as const;
export type ShieldMode = (typeof SHIELD_MODES)[number];

/** How an organization's shield decides. Every tenant has exactly one, from its first moment. */
export const ShieldSettingsRecord = z.strictObject({
  id: z.literal("shield"),
  mode: z.enum(SHIELD_MODES),
  /** Modes of single agents, by their id. */
  agent_modes: z.record(z.string(), z.enum(SHIELD_MODES)),
  approvals: z.strictObject({
    /** How many people must approve. */
    required: z.int(),
    /** One of these roles is needed to decide; empty for whoever has the right. */
    roles: z.array(z.string()),
    self_approval: z.boolean(),
    expires_seconds: z.int(),
  }),
  /** Built-in rules that do not count: whole packs, and single ones. */
  patterns: z.strictObject({
    disabled_packs: z.array(z.string()),
    disabled_rules: z.array(z.string()),
  }),
  /** The organization's own rules, as its schema in core/ says. */
  policy: z.unknown(),
  /** Digest of all of the above: what a verdict and an approval are bound to. */
  version: z.string(),
});
export type ShieldSettingsRecord = z.infer<typeof ShieldSettingsRecord>;

export const shieldSettings = collection({
  name: "shield_settings",
  schema: ShieldSettingsRecord,
  cached: 20_000,
});

/** Turning on self-approval, while it waits for a second administrator. */
const SelfApprovalChangeRecord = z.strictObject({
  id: z.literal("self_approval"),
  /** What people name it by: a later change has another one. */
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
