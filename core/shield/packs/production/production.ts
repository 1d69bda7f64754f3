import type { Rule } from "../../model.ts";
import { CLUSTER_CHANGES } from "./clusters.ts";
import { ORCHESTRATION_CHANGES } from "./orchestration.ts";
import { PLATFORM_CHANGES } from "./platforms.ts";

/** What alters a running system without destroying it. */
export const PRODUCTION_RULES: readonly Rule[] = [
  ...CLUSTER_CHANGES,
  ...ORCHESTRATION_CHANGES,
  ...PLATFORM_CHANGES,
];
