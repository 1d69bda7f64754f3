import { ACCOUNT_CHANGES } from "./accounts.ts";
import { FIREWALL_CHANGES } from "./firewalls.ts";
import { KERNEL_CHANGES } from "./kernel.ts";
import { LOG_CHANGES } from "./logs.ts";
import { MACOS_CHANGES } from "./macos.ts";
import { NETWORK_CHANGES } from "./networks.ts";
import { PLACE_CHANGES } from "./places.ts";
import { POOL_CHANGES } from "./pools.ts";
import { SERVED_CHANGES } from "./served.ts";
import { SERVED_CODE_RULES } from "./served_code.ts";
import { STORAGE_CHANGES } from "./storage.ts";

/** What alters a running machine without destroying anything. */
export const MACHINE_CHANGES = [
  ...FIREWALL_CHANGES,
  ...NETWORK_CHANGES,
  ...STORAGE_CHANGES,
  ...POOL_CHANGES,
  ...KERNEL_CHANGES,
  ...ACCOUNT_CHANGES,
  ...LOG_CHANGES,
  ...MACOS_CHANGES,
  ...SERVED_CHANGES,
  ...SERVED_CODE_RULES,
  ...PLACE_CHANGES,
];
