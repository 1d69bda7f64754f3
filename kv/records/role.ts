import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, StoredCreatedWith } from "./fields.ts";

/** A custom role of an organization, in its live space. The id is its name. */
export const RoleRecord = z.strictObject({
  id: z.string(),
  /** Scopes, or `all`. */
  permissions: z.array(z.string()),
  created_by: z.string(),
  /** The credential that made it. */
  created_with: StoredCreatedWith,
  created_at_ms: z.number(),
  updated_at_ms: z.number(),
});
export type RoleRecord = z.infer<typeof RoleRecord>;

export const roles = collection({
  name: "roles",
  schema: RoleRecord,
  announced: "changes",
  index: { made_with: (role) => madeWith(role.created_with) },
  counted: true,
  cached: 5_000,
  checkedPerTenant: true, // a person's rights depend on all of their roles
});
