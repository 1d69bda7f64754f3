import { z } from "zod";
import { collection } from "../collection.ts";

/** A role that an organization made. Lives in its live space; the id is its name. */
export const RoleRecord = z.strictObject({
  id: z.string(),
  /** Scopes, or `all`. */
  permissions: z.array(z.string()),
  created_by: z.string(),
  created_at_ms: z.number(),
  updated_at_ms: z.number(),
});
export type RoleRecord = z.infer<typeof RoleRecord>;

export const roles = collection({
  name: "roles",
  schema: RoleRecord,
  counted: true,
  cached: 5_000,
  checkedTogether: true, // somebody's rights depend on every role that they have
});
