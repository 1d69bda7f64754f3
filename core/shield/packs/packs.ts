import type { Condition, Rule, SimpleCommand } from "../model.ts";
import { BEHAVIOUR_RULES } from "./behaviour.ts";
import { CLOUD_RULES } from "./cloud/infrastructure.ts";
import { destroys } from "../code/cmdlets.ts";
import { ANY_CMDLET, CODE_RULES } from "./code/code.ts";
import { CONTAINER_RULES } from "./containers.ts";
import { CONTROL_RULES } from "./tools/control.ts";
import { ANY_UNKNOWN, UNKNOWN_RULES } from "./tools/unknown.ts";
import { CREDENTIAL_RULES } from "./credentials.ts";
import { DATABASE_RULES } from "./databases/clients.ts";
import { DEFENSE_RULES } from "./services/defenses.ts";
import { DISCLOSURE_RULES } from "./disclosure/disclosure.ts";
import { DISK_RULES } from "./disks.ts";
import { ESCALATION_RULES } from "./escalation/escalation.ts";
import { EXFILTRATION_RULES } from "./network/exfiltration.ts";
import { FETCHED_RULES } from "./network/fetched.ts";
import { FILESYSTEM_RULES } from "./filesystem/files.ts";
import { HISTORY_RULES } from "./git/history.ts";
import { WORK_FILE_RULES } from "./filesystem/work.ts";
import { WORK_RULES } from "./git/work.ts";
import { KUBERNETES_RULES } from "./kubernetes.ts";
import { KUBERNETES_PLUGIN_RULES } from "./kubernetes_plugins.ts";
import { NETWORK_RULES } from "./network/network.ts";
import { UNSEEN_RULES } from "./network/unseen.ts";
import { REQUEST_RULES } from "./network/requests.ts";
import { OUTPUT_RULES } from "./filesystem/outputs.ts";
import { LEAVING_RULES } from "./network/leaving.ts";
import { PACKAGE_RULES } from "./packages.ts";
import { KNOWN_NAMES } from "../programs/families.ts";
import { CLOUD_PHRASES } from "./cloud/phrases.ts";
import { DATA_PHRASES } from "./databases/phrases.ts";
import { MACHINE_PHRASES } from "./machine/phrases.ts";
import { WINDOWS_PHRASES } from "./machine/windows.ts";
import { PRODUCTION_RULES } from "./production/production.ts";
import { PERSISTENCE_RULES } from "./persistence.ts";
import { REMOVAL_RULES } from "./filesystem/removals.ts";
import { SECRET_RULES } from "./secrets.ts";
import { SERVICE_RULES } from "./services/services.ts";
import { STRUCTURE_RULES } from "./structure.ts";
import { SYSTEM_RULES } from "./filesystem/system.ts";
import { GIT_OPTION_RULES } from "./git/options.ts";

/** The one table of rules; ids are unique and stable. */
export const RULES: readonly Rule[] = [
  ...REMOVAL_RULES,
  ...FILESYSTEM_RULES,
  ...WORK_FILE_RULES,
  ...OUTPUT_RULES,
  ...DISK_RULES,
  ...WORK_RULES,
  ...HISTORY_RULES,
  ...NETWORK_RULES,
  ...REQUEST_RULES,
  ...FETCHED_RULES,
  ...UNSEEN_RULES,
  ...CREDENTIAL_RULES,
  ...SECRET_RULES,
  ...DATABASE_RULES,
  ...KUBERNETES_RULES,
  ...KUBERNETES_PLUGIN_RULES,
  ...CONTAINER_RULES,
  ...CONTROL_RULES,
  ...UNKNOWN_RULES,
  ...CLOUD_RULES,
  ...CLOUD_PHRASES,
  ...PRODUCTION_RULES,
  ...ESCALATION_RULES,
  ...SERVICE_RULES,
  ...DEFENSE_RULES,
  ...PERSISTENCE_RULES,
  ...PACKAGE_RULES,
  ...EXFILTRATION_RULES,
  ...SYSTEM_RULES,
  ...GIT_OPTION_RULES,
  ...DATA_PHRASES,
  ...MACHINE_PHRASES,
  ...WINDOWS_PHRASES,
  ...CODE_RULES,
  ...LEAVING_RULES,
  ...DISCLOSURE_RULES,
  ...STRUCTURE_RULES,
  ...BEHAVIOUR_RULES,
];

/** The pack of each rule. */
export const PACK_OF: ReadonlyMap<string, Rule["pack"]> = new Map(
  RULES.map(({ id, pack }) => [id, pack]),
);

/** Rules about every command. */
export const RULES_FOR_ALL: readonly Rule[] = RULES.filter((rule) =>
  rule.commands === null && rule.also === null
);

/** Rules about every command with redirections. */
export const RULES_FOR_REDIRECTED: readonly Rule[] = RULES.filter((rule) =>
  rule.also?.includes("redirected")
);

/** Rules about every command with variables set in front of it. */
export const RULES_FOR_ASSIGNED: readonly Rule[] = RULES.filter((rule) =>
  rule.also?.includes("assigned")
);

/** Rules about code of another language. */
export const RULES_FOR_CODE: readonly Rule[] = RULES.filter((rule) => rule.matchCode !== null);

/** The rules for one program: those for every call, and those that depend on the answer to a question. */
export interface ProgramRules {
  readonly always: Rule[];
  readonly asked: { readonly ask: Condition["ask"]; readonly byAnswer: Map<string, Rule[]> }[];
}

let index: ReadonlyMap<string, ProgramRules> | null = null;

/** The rules of each program, by name; made at the first use. */
const indexed = (): ReadonlyMap<string, ProgramRules> => index ??= makeIndex();

function makeIndex(): ReadonlyMap<string, ProgramRules> {
  const index = new Map<string, ProgramRules>();
  for (const rule of RULES) {
    for (const name of new Set(rule.commands ?? [])) {
      addToIndex(rule, index.getOrInsertComputed(name, () => ({ always: [], asked: [] })));
    }
  }
  return index;
}

function addToIndex(rule: Rule, { always, asked }: ProgramRules): void {
  if (rule.when === null) {
    always.push(rule);
    return;
  }
  const { ask, answers } = rule.when;
  let question = asked.find((one) => one.ask === ask);
  if (question === undefined) asked.push(question = { ask, byAnswer: new Map() });
  for (const answer of answers) {
    question.byAnswer.getOrInsertComputed(answer, () => []).push(rule);
  }
}

/** The names of all programs that have rules. */
export const ruleNames = (): readonly string[] => [...indexed().keys()];

const places = new Map(RULES.map((rule, place) => [rule, place]));

/** The rules for a program; null for none. `mkfs.anything` counts as `mkfs`, and PowerShell's names tell their verb. */
export function rulesFor(name: string): ProgramRules | null {
  return indexed().get(name) ?? indexed().get(kindOf(name)) ?? null;
}

/** The name under which the rules for a whole kind of programs stand. */
function kindOf(name: string): string {
  if (name.startsWith("mkfs.")) return "mkfs";
  if (name.startsWith("kubectl-")) return "kubectl-";
  if (name.includes("-") && destroys(name)) return ANY_CMDLET;
  return name === "" || KNOWN_NAMES.has(name) ? "" : ANY_UNKNOWN;
}

/** The matching rules for a command, in the table's order. */
export function matchRules(rules: ProgramRules | null, command: SimpleCommand): Rule[] {
  const matched: Rule[] = [];
  if (rules === null) return matched;
  for (const rule of rules.always) if (rule.match(command)) matched.push(rule);
  for (const { ask, byAnswer } of rules.asked) {
    for (const rule of byAnswer.get(ask(command)) ?? []) {
      if (rule.match(command)) matched.push(rule);
    }
  }
  if (matched.length < 2 || rules.asked.length === 0) return matched;
  return matched.sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
}
