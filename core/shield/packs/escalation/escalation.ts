import type { Rule } from "../../model.ts";
import { PRIVILEGE_RULES } from "./privileges.ts";
import { SEARCH_RULES } from "./searches.ts";
import { SHELL_RULES } from "./shells.ts";

/** How somebody looks for a way to more rights, and takes it. */
export const ESCALATION_RULES: readonly Rule[] = [
  ...SEARCH_RULES,
  ...PRIVILEGE_RULES,
  ...SHELL_RULES,
];
