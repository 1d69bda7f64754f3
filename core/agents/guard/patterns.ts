import type { Work, Writing } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { pageOf, type Paging } from "../../../kv/store/paging.ts";
import {
  FIXED,
  isEnabled,
  type Pack,
  PACKS,
  type Policy,
  RULES,
  scoreRule,
} from "../../shield/shield.ts";
import { policyAndPatterns, shieldInForce } from "./in_force.ts";
import { changeShieldSettings } from "./settings.ts";

/** Packs and single rules to switch on or off; others stay as they are. */
export interface PatternChange {
  readonly packs?: Readonly<Record<string, boolean | undefined>> | undefined;
  readonly rules?: Readonly<Record<string, boolean | undefined>> | undefined;
}

/** The rule packs with their rules, and which of them the organization's settings switch off. */
export async function listPatterns({ db, actor: { tenant } }: Work, paging: Paging) {
  const { own, version } = await shieldInForce(db, tenant);
  const { items, pagination } = pageOf(PACKS, paging);
  const policy = policyAndPatterns(own) ?? {};
  return {
    patterns: items.map((pack) => showPack(pack, policy)),
    ...own.patterns,
    policy_version: version,
    pagination,
  };
}

/**
 * Switches packs and single rules; requests for approval under the earlier settings lapse.
 * @throws {Fault} VALIDATION_FAILED for a rule that always counts
 */
export async function switchPatterns(work: Writing, { packs = {}, rules = {} }: PatternChange) {
  const { own: { patterns } } = await shieldInForce(work.tx, work.actor.tenant);
  const off = Object.keys(rules).filter((id) => rules[id] === false);
  const issues = off.filter((id) => FIXED.has(id)).map((id) => ({
    path: `body.rules.${id}`,
    message: "is always enabled: unreadable commands are never allowed without approval",
  }));
  if (issues.length > 0) {
    throw new Fault("VALIDATION_FAILED", "Some rules cannot be disabled.", { issues });
  }
  await changeShieldSettings(work, {
    patterns: {
      disabled_packs: switched(patterns.disabled_packs, packs),
      disabled_rules: switched(patterns.disabled_rules, rules),
    },
  });
  return await listPatterns(work, { limit: PACKS.length, offset: 0 });
}

/** The names that are off, sorted, so that the same choice always has the same version. */
function switched(off: readonly string[], change: NonNullable<PatternChange["packs"]>): string[] {
  const left = new Set(off);
  for (const [name, on] of Object.entries(change)) {
    if (on) left.delete(name);
    else left.add(name);
  }
  return [...left].sort();
}

function showPack(pack: Pack, policy: Pick<Policy, "disabled_packs" | "disabled_rules">) {
  const rules = RULES.filter((rule) => rule.pack === pack).map((rule) => ({
    id: rule.id,
    enabled: isEnabled(rule, policy),
    fixed: FIXED.has(rule.id),
    risk_score: scoreRule(rule),
    threat: rule.threat,
    explanation: rule.explanation,
  }));
  return { pack, enabled: !policy.disabled_packs?.includes(pack), rules };
}
