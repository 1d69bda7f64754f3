import { type KeyParts, rowKey, SYSTEM, systemKey } from "../../kv/collection.ts";
import { refuseNewer, SCHEMA_KEY } from "../../kv/migrations.ts";
import { InstallationRecord, installations } from "../../kv/records/installation.ts";
import { deliveries } from "../../kv/records/webhook.ts";

/** What a store says of itself. */
export interface Stored {
  readonly schema: number;
  readonly installation: InstallationRecord;
}

/** Where a store says it. */
export const STORED_KEYS: { readonly [name in keyof Stored]: KeyParts } = {
  schema: SCHEMA_KEY,
  installation: rowKey(installations, SYSTEM, "installation"),
};

/** Where the deliveries are that have a due time: webhook, instant in ms, and what tells them apart. */
export const DUE_KEY: KeyParts = systemKey(deliveries, "due", []);

/**
 * What lies at STORED_KEYS, or null where no relay has run yet.
 * @throws {Error} when a newer program wrote it, whose records this one cannot read
 */
export function storedOf(what: string, schema: unknown, installation: unknown): Stored | null {
  if (typeof schema !== "number" || installation === null) return null;
  refuseNewer(what, schema);
  return { schema, installation: InstallationRecord.parse(installation) };
}
