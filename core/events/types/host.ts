import { z } from "zod";
import { LimitOverrides } from "../../../kv/records/fields.ts";
import { count, id } from "./fields.ts";
import { event } from "./event.ts";

const ofAccount = z.strictObject({
  account_id: id("account"),
  name: z.string().describe("The organization's name."),
});
const accountExample = { account_id: "org_0m3x0", name: "Example" };

/** The host: accounts, plans, limits, configuration and the installation. */
export const hostEvents = {
  organization_created: event({
    meaning: "an organization signed up",
    details: z.strictObject({
      name: z.string().describe("The organization's name."),
      plan: z.string().describe("Its plan."),
      host: z.boolean().describe("True for the first organization, which is the host."),
    }),
    example: { name: "Example", plan: "free", host: false },
  }),
  organization_renamed: event({
    meaning: "an organization was renamed",
    details: z.strictObject({
      name: z.string().describe("The new name."),
      previous_name: z.string().describe("The name before."),
    }),
    example: { name: "Example Ltd", previous_name: "Example" },
  }),
  account_plan_changed: event({
    meaning: "the host changed the plan of an account, with a subscription and an order",
    details: z.strictObject({
      account_id: id("account"),
      plan_id: id("plan"),
      previous_plan_id: id("plan before"),
      order_id: id("order"),
    }),
    example: {
      account_id: "org_0m3x0",
      plan_id: "pln_0m3xd",
      previous_plan_id: "free",
      order_id: "ord_0m3xe",
    },
  }),
  account_deactivated: event({
    meaning: "the host deactivated an account, and its sessions, streams and keys ended",
    details: ofAccount,
    example: accountExample,
  }),
  account_activated: event({
    meaning: "the host reactivated an account",
    details: ofAccount,
    example: accountExample,
  }),
  plan_created: event({
    meaning: "the host created a plan",
    details: z.strictObject({
      name: z.string().describe("The plan's name."),
      price: z.number().describe("Per month, in units of the currency."),
      currency: z.string().describe("ISO 4217."),
    }),
    example: { name: "Team", price: 49, currency: "EUR" },
  }),
  plan_updated: event({
    meaning: "the host changed a plan",
    details: z.strictObject({
      changed: z.array(z.string()).describe("The fields that changed."),
    }),
    example: { changed: ["price"] },
  }),
  plan_deleted: event({
    meaning: "the host deleted a plan",
    details: z.strictObject({ name: z.string().describe("The plan's name.") }),
    example: { name: "Team" },
  }),
  limits_changed: event({
    meaning: "the host changed the limits of an API key or an organization",
    details: z.strictObject({
      type: z.enum(["api_key", "organization"]).describe("What the limits apply to."),
      organization_id: id("organization"),
      overrides: LimitOverrides.describe("The host's overrides; null is unlimited."),
    }),
    example: {
      type: "organization",
      organization_id: "org_0m3x0",
      overrides: { requests_per_minute: 600 },
    },
  }),
  config_reloaded: event({
    meaning: "the configuration was reloaded",
    details: z.strictObject({
      changes: z.array(z.strictObject({
        path: z.string().describe("Such as `limits.live.requests_per_minute`."),
        change: z.enum(["added", "changed", "removed"]),
        before: z.unknown().describe("Null when absent before; secrets are masked."),
        after: z.unknown().describe("Null when absent now; secrets are masked."),
      })).describe("The changes, as many as fit into an event."),
      changes_total: count("The total number of changes"),
    }),
    example: {
      changes: [{
        path: "limits.live.requests_per_minute",
        change: "changed",
        before: 300,
        after: 600,
      }],
      changes_total: 1,
    },
  }),
  verdict_key_rotated: event({
    meaning: "an operator with access to the store replaced the key that signs verdicts",
    details: z.strictObject({
      verdict_key: z.string().describe("The new key, base64url."),
      previous: z.string().describe("The previous key, which no longer signs."),
      signature: z.string().describe("The previous key's signature over the new key, base64url."),
    }),
    example: {
      verdict_key: "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w",
      previous: "7Ys7cQSdVmMyGUv0XpZ0aCkYvlpGkBM_x3tpdlbEkyU",
      signature: "KhP0Vn2tmv4yWQ…",
    },
  }),
  audit_key_rotated: event({
    meaning: "an operator with access to the store replaced the key that signs checkpoints",
    details: z.strictObject({
      public_key: z.string().describe("The new key, in the form that `--key` accepts."),
      previous: z.string().describe("The previous key, which no longer signs."),
      rows: count("The number of rows in the log, the most that the previous key signed"),
      handover: z.string().describe("The handover note, signed by both keys."),
    }),
    example: {
      public_key: "relay/org_0m3x0/live+5f1c7a02+AYqI43V0CfGV/VLbTy6XXLKZwm+HZQSG+N0iAG0D29c…",
      previous: "relay/org_0m3x0/live+c2b8e0d4+Ae2LO3EEnVZjMhlL9F6WdGgpGL5aRpATP8d7aXZWxJMl…",
      rows: 4211,
      handover:
        "relay/org_0m3x0/live\nkey …\nnext …\nrows 4211\ntime 2026-01-31T03:00:00.000Z\n\n…",
    },
  }),
  backup_restored: event({
    meaning: "a backup replaced the store, so the log lacks what happened after the backup",
    details: z.strictObject({
      taken_at: z.iso.datetime().describe("When the backup was taken."),
      versionstamp: z.string().describe("The newest versionstamp in the backup."),
      sha256: z.hex().describe("The SHA-256 of the backup."),
    }),
    example: {
      taken_at: "2026-01-31T03:00:00.000Z",
      versionstamp: "00000000000a1b2c0000",
      sha256: "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea",
    },
  }),
} as const;
