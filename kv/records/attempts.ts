import { z } from "zod";
import { collection } from "../store/collection.ts";

/** Attempts to give a secret, by what limits them together, such as an address. */
const AttemptsRecord = z.strictObject({
  /** The scope and the key. */
  id: z.string(),
  failed: z.int(),
  /** When the failures expire, counted from the first. */
  until_ms: z.number(),
  /** Unfinished attempts, each of which may still fail; those of a crashed process stay until the record expires. */
  under_way: z.int(),
});
export type AttemptsRecord = z.infer<typeof AttemptsRecord>;

export const attempts = collection({
  name: "attempts",
  schema: AttemptsRecord,
  expiresAt: (record) => record.until_ms,
});
