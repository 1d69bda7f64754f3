import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { type RecordSchemas, recordSchemas } from "./record_schemas.ts";

const RELEASED = new URL("../../fixtures/records/", import.meta.url);

for (const { name } of [...Deno.readDirSync(RELEASED)]) {
  const version = name.replace(/\.json$/, "");
  Deno.test(`records: programs of ${version} refuse a store whose records have other fields`, async () => {
    const released: RecordSchemas = JSON.parse(await Deno.readTextFile(new URL(name, RELEASED)));
    const now = await recordSchemas();
    // Records refuse fields that they do not know, so an earlier program would fail in the middle of its work.
    const changed = Object.entries(released.records)
      .filter(([record, digest]) => now.records[record] !== digest)
      .map(([record]) => record);
    ok(Object.keys(released.records).length > 40);
    if (now.schema > released.schema) return;
    deq(
      changed,
      [],
      "add a migration to kv/maintenance/migrations.ts, even one that changes nothing",
    );
  });
}
