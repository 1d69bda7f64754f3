import { type KeyParts, rowKey, SYSTEM, systemKey } from "../../../kv/store/collection.ts";
import { installations } from "../../../kv/records/installation.ts";
import { deliveries } from "../../../kv/records/webhook.ts";

/** The key of the installation's record. */
export const INSTALLATION_KEY: KeyParts = rowKey(installations, SYSTEM, "installation");

/** The index of deliveries with a due time: webhook, instant in ms, delivery. */
export const DUE_KEY: KeyParts = systemKey(deliveries, "due", []);
