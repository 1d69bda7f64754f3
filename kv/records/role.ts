import { z } from "zod";
import { collection } from "../store/collection.ts";
import { madeWith, StoredCreatedWith } from "./fields.ts";

/** A role that an organization made. Lives in its live space; the id is its name. */
export const RoleRecord = z.strictObject({
  id: z.string(),
  /** Scopes, or `all`. */
  permissions: z.array(z.string()),
  created_by: z.string(),
  /** The credential that it was made with. */
  created_with: StoredCreatedWith,
  created_at_ms: z.number(),
  updated_at_ms: z.number(),
});
export type RoleRecord = z.infer<typeof RoleRecord>;

export const roles = collection({
  name: "roles",
  schema: RoleRecord,
  index: { made_with: (role) => madeWith(role.created_with) },
  counted: true,
  cached: 5_000,
  checkedPerTenant: true, // somebody's rights depend on every role that they have
});
