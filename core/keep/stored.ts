import type { StoreFile } from "../../kv/file.ts";
import { rowKey, SYSTEM } from "../../kv/collection.ts";
import { SCHEMA_KEY } from "../../kv/migrations.ts";
import { InstallationRecord, installations } from "../../kv/records/installation.ts";

/** What a store's file says of itself. */
export interface Stored {
  readonly schema: number;
  readonly installation: InstallationRecord;
}

/** Reads it, or answers null where no relay has run yet. */
export function readStored(file: StoreFile): Stored | null {
  const schema = file.get(SCHEMA_KEY);
  const installation = file.get(rowKey(installations, SYSTEM, "installation"));
  if (typeof schema !== "number" || installation === null) return null;
  return { schema, installation: InstallationRecord.parse(installation) };
}
