import { z } from "zod";
import { collection } from "../store/collection.ts";
import { LimitOverrides } from "./fields.ts";

/** An account of the service, in the system tenant. */
export const OrganizationRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  plan: z.string(),
  active: z.boolean(),
  /** The first organization runs the installation. */
  host: z.boolean(),
  created_at_ms: z.number(),
  /** True when people without a second factor may do nothing except set one up. */
  require_second_factor: z.boolean(),
  /** Overrides of its plan's limit, set by the host. */
  limits: LimitOverrides.pick({ requests_per_minute: true }).nullable(),
});
export type OrganizationRecord = z.infer<typeof OrganizationRecord>;

export const organizations = collection({
  name: "organizations",
  schema: OrganizationRecord,
  announced: "changes",
  /** Of two simultaneous first signups only one becomes the host. */
  unique: { host: (org) => org.host ? ["host"] : null },
  index: {
    active: (org) => [org.active ? "yes" : "no"],
    plan: (org) => [org.plan, org.active ? "yes" : "no"],
  },
  counted: true,
  cached: 20_000,
});
