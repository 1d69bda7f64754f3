import { z } from "zod";
import { collection } from "../store/collection.ts";
import { AlsoOf, madeWith, StoredCreatedWith } from "./fields.ts";
import { Standing } from "./standing.ts";

export const INGEST_PURPOSES = ["alertmanager", "generic", "telegram"] as const;
export type IngestPurpose = (typeof INGEST_PURPOSES)[number];

/** A token that lets an outside sender use one receiver, and nothing else. */
export const IngestTokenRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  purpose: z.enum(INGEST_PURPOSES),
  /** SHA-256 of the value, hex. */
  hash: z.string(),
  /** The part of the value that may be shown. */
  masked: z.string(),
  created_by: z.string(),
  /** The credential that made it. */
  created_with: StoredCreatedWith,
  /** Who else may know the value. */
  also_of: AlsoOf,
  standing: Standing,
  created_at_ms: z.number(),
});
export type IngestTokenRecord = z.infer<typeof IngestTokenRecord>;

export const ingestTokens = collection({
  name: "ingest_tokens",
  schema: IngestTokenRecord,
  lookup: { hash: (token) => [token.hash] },
  index: { made_with: (token) => madeWith(token.created_with) },
  counted: true,
  cached: 5_000,
});
