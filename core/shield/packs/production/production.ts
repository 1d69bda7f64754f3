import type { Rule } from "../../model.ts";
import { CLUSTER_CHANGES } from "./clusters.ts";
import { PLATFORM_CHANGES } from "./platforms.ts";
import { REQUEST_CHANGES } from "./requests.ts";

/** What alters a running system without destroying it. */
export const PRODUCTION_RULES: readonly Rule[] = [
  ...CLUSTER_CHANGES,
  ...PLATFORM_CHANGES,
  ...REQUEST_CHANGES,
];
