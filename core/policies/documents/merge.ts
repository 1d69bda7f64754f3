import type { ShieldMode } from "../../../kv/records/shield.ts";
import type { MergedPolicy } from "../../agents/agents.ts";
import { APPROVE_SCORE, DENY_SCORE, type Policy, type PolicyRule } from "../../shield/shield.ts";
import type { NamedDocument } from "./document.ts";

/** Modes, from the least to the most strict. */
const STRICTNESS: readonly ShieldMode[] = ["off", "observe", "enforce"];

/** True when a policy applies to an agent with these labels. */
export const concerns = (
  { agents }: { readonly agents?: NamedDocument["agents"] },
  labels: Readonly<Record<string, string>>,
): boolean => Object.entries(agents?.labels ?? {}).every(([key, value]) => labels[key] === value);

/**
 * Merges the policies of one agent: their rules in order, then the organization's own. The strictest threshold, mode
 * and retention applies, and every list of tools must allow a program.
 */
export function mergePolicies(
  documents: readonly NamedDocument[],
  own: Policy | null,
): MergedPolicy {
  const said = documents.map(({ thresholds }) => thresholds);
  const all = [...said, own?.thresholds].filter((one) => one !== undefined);
  const modes = documents.map(({ mode }) => mode).filter((mode) => mode !== undefined);
  const days = documents.flatMap(({ output }) =>
    output === undefined ? [] : [output.retention_days]
  );
  const rules = [...documents.flatMap(rulesOf), ...(own?.rules ?? [])];
  const disabled = [...documents, own].flatMap((one) => one?.disabled_rules ?? []);
  const packs = [...documents, own].flatMap((one) => one?.disabled_packs ?? []);
  const watched = [...documents, own].flatMap((one) => one?.watched_rules ?? []);
  const watchedPacks = [...documents, own].flatMap((one) => one?.watched_packs ?? []);
  const silent = [rules, disabled, packs, watched, watchedPacks, all].every(({ length }) =>
    length === 0
  );
  return {
    policy: silent ? null : {
      rules,
      ...(all.length > 0 && {
        thresholds: {
          approve: Math.min(...all.map(({ approve = APPROVE_SCORE }) => approve)),
          deny: Math.min(...all.map(({ deny = DENY_SCORE }) => deny)),
        },
      }),
      ...(packs.length > 0 && { disabled_packs: [...new Set(packs)] }),
      ...(disabled.length > 0 && { disabled_rules: [...new Set(disabled)] }),
      ...(watchedPacks.length > 0 && { watched_packs: [...new Set(watchedPacks)] }),
      ...(watched.length > 0 && { watched_rules: [...new Set(watched)] }),
    },
    mode: STRICTNESS.findLast((mode) => modes.includes(mode)) ?? null,
    retentionDays: days.length === 0 ? null : Math.min(...days),
  };
}

/** The rules of a policy, prefixed with its name, including one for its list of tools. */
function rulesOf({ name, rules, tools }: NamedDocument): PolicyRule[] {
  const named = rules.map((rule) => ({ ...rule, id: `${name}.${rule.id}`, policy: name }));
  if (tools === undefined) return named;
  return [...named, {
    id: `${name}.tools`,
    policy: name,
    description: "only the programs of its tools list may run",
    match: { other_commands: tools.allow },
    verdict: tools.otherwise,
  }];
}
