import type { Rule } from "../../model.ts";
import { CLUSTER_CHANGES } from "./clusters.ts";
import { TOOL_CHANGES } from "./tools.ts";

/** What alters a running system without destroying it. */
export const PRODUCTION_RULES: readonly Rule[] = [...CLUSTER_CHANGES, ...TOOL_CHANGES];
