import { z } from "zod";
import { collection } from "../collection.ts";

/** An account of the service. Lives in the system tenant. */
export const OrganizationRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  plan: z.string(),
  active: z.boolean(),
  /** The first organization runs the installation. */
  host: z.boolean(),
  created_at_ms: z.number(),
});
export type OrganizationRecord = z.infer<typeof OrganizationRecord>;

export const organizations = collection({
  name: "organizations",
  schema: OrganizationRecord,
  /** Two first signups at once: one gets it. */
  unique: { host: (org) => org.host ? ["host"] : null },
  counted: true,
  cached: 20_000,
});
