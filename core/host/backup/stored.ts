import { type KeyParts, rowKey, SYSTEM, systemKey } from "../../../kv/store/collection.ts";
import { installations } from "../../../kv/records/installation.ts";
import { deliveries } from "../../../kv/records/webhook.ts";

/** Where a store has its installation's record. */
export const INSTALLATION_KEY: KeyParts = rowKey(installations, SYSTEM, "installation");

/** Where the deliveries are that have a due time: webhook, instant in ms, and what tells them apart. */
export const DUE_KEY: KeyParts = systemKey(deliveries, "due", []);
