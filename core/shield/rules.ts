import type { Rule } from "./rule.ts";
import { BEHAVIOUR_RULES } from "./rules/behaviour.ts";
import { CLOUD_RULES } from "./rules/cloud.ts";
import { CODE_RULES } from "./rules/code.ts";
import { CONTROL_RULES } from "./rules/control.ts";
import { CREDENTIAL_RULES } from "./rules/credentials.ts";
import { DATABASE_RULES } from "./rules/databases.ts";
import { DEFENSE_RULES } from "./rules/defenses.ts";
import { DISK_RULES } from "./rules/disks.ts";
import { EXFILTRATION_RULES } from "./rules/exfiltration.ts";
import { FILESYSTEM_RULES } from "./rules/filesystem.ts";
import { FRAMEWORK_RULES } from "./rules/frameworks.ts";
import { GIT_RULES } from "./rules/git.ts";
import { NETWORK_RULES } from "./rules/network.ts";
import { ORCHESTRATION_RULES } from "./rules/orchestration.ts";
import { PACKAGE_RULES } from "./rules/packages.ts";
import { PERSISTENCE_RULES } from "./rules/persistence.ts";
import { SERVICE_RULES } from "./rules/services.ts";
import { STRUCTURE_RULES } from "./rules/structure.ts";
import { SYSTEM_RULES } from "./rules/system.ts";

/** The one table of rules; ids are unique and stable. */
export const RULES: readonly Rule[] = [
  ...FILESYSTEM_RULES,
  ...DISK_RULES,
  ...GIT_RULES,
  ...NETWORK_RULES,
  ...CREDENTIAL_RULES,
  ...DATABASE_RULES,
  ...ORCHESTRATION_RULES,
  ...CONTROL_RULES,
  ...CLOUD_RULES,
  ...SERVICE_RULES,
  ...DEFENSE_RULES,
  ...PERSISTENCE_RULES,
  ...PACKAGE_RULES,
  ...EXFILTRATION_RULES,
  ...FRAMEWORK_RULES,
  ...SYSTEM_RULES,
  ...CODE_RULES,
  ...STRUCTURE_RULES,
  ...BEHAVIOUR_RULES,
];

/** Rules that look at every command. */
export const RULES_FOR_ALL: readonly Rule[] = RULES.filter((rule) =>
  rule.commands === null && rule.also === undefined
);

/** Rules that look at every command with redirections. */
export const RULES_FOR_REDIRECTED: readonly Rule[] = RULES.filter((rule) =>
  rule.also?.includes("redirected")
);

/** Rules that look at every command with variables set before it. */
export const RULES_FOR_ASSIGNED: readonly Rule[] = RULES.filter((rule) =>
  rule.also?.includes("assigned")
);

/** Rules about code of another language. */
export const RULES_FOR_CODE = CODE_RULES;

const byName = new Map<string, Rule[]>();
for (const rule of RULES) {
  for (const name of new Set(rule.commands ?? [])) {
    byName.set(name, [...byName.get(name) ?? [], rule]);
  }
}

/** The names that some rule looks at. */
export const RULE_NAMES: readonly string[] = [...byName.keys()];

const NONE: readonly Rule[] = [];

/** The rules that look at programs of this name; `mkfs.anything` counts as `mkfs`. */
export function rulesFor(name: string): readonly Rule[] {
  const found = byName.get(name);
  if (found !== undefined) return found;
  return name.startsWith("mkfs.") ? byName.get("mkfs") ?? NONE : NONE;
}
