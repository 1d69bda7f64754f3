import { createHash } from "node:crypto";
import { z } from "zod";
import { canonicalJson } from "../../../core/codec/canonical.ts";
import { newestSchema } from "../../../kv/maintenance/migrations.ts";
import { collections } from "../../support/whole_store.ts";

/** What a version's programs can read: the number of the schema, and a digest of the fields of each collection. */
export interface RecordSchemas {
  readonly schema: number;
  readonly records: Readonly<Record<string, string>>;
}

/** Those of this work tree. */
export async function recordSchemas(): Promise<RecordSchemas> {
  const found = [...await collections()].sort(([a], [b]) => a < b ? -1 : 1);
  const records = found.map(([name, { schema }]) => {
    const { $schema: _, ...fields } = z.toJSONSchema(schema, { unrepresentable: "any" });
    const digest = createHash("sha256").update(canonicalJson(fields)).digest("hex");
    return [name, digest.slice(0, 16)];
  });
  return { schema: newestSchema(), records: Object.fromEntries(records) };
}
