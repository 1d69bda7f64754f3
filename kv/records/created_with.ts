import { z } from "zod";
import type { KeyParts } from "../store/collection.ts";

/** The credential that something was made with: a key, a session, or another issuer's token by that issuer. */
export const CreatedWith = z.strictObject({
  kind: z.enum(["api_key", "session", "issuer"]),
  id: z.string(),
});
export type CreatedWith = z.infer<typeof CreatedWith>;

/** The same in a record: null where it is not known. Earlier versions kept the id of a key alone. */
export const StoredCreatedWith = z.preprocess(
  (stored) => typeof stored === "string" ? { kind: "api_key", id: stored } : stored,
  CreatedWith.nullable(),
).default(null);

/** The key of the index by which all that was made with a credential is found. */
export const madeWith = (credential: CreatedWith | null): KeyParts | null =>
  credential && [credential.kind, credential.id];
