import type { Work, Writing } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { pageOf, type Paging } from "../../../kv/store/paging.ts";
import {
  FIXED,
  isEnabled,
  onlyWatches,
  type Pack,
  PACKS,
  RULES,
  scoreRule,
  type Switches,
} from "../../shield/shield.ts";
import { type Patterns, policyAndPatterns, shieldInForce } from "./in_force.ts";
import { changeShieldSettings } from "./settings.ts";

/** How rules are switched: on, off, or so that they only watch. */
type Switched = Readonly<Record<string, boolean | "watch" | undefined>>;

/** Packs and single rules to switch; others stay as they are. */
export interface PatternChange {
  readonly packs?: Switched | undefined;
  readonly rules?: Switched | undefined;
}

/** The rule packs with their rules, and how the organization's settings switch them. */
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
export async function switchPatterns(work: Writing, change: PatternChange) {
  const { own: { patterns } } = await shieldInForce(work.tx, work.actor.tenant);
  await changeShieldSettings(work, { patterns: switchedPatterns(patterns, change) });
  return await listPatterns(work, { limit: PACKS.length, offset: 0 });
}

/**
 * The settings of packs and rules after a change, which stands at `path` of the request.
 * @throws {Fault} VALIDATION_FAILED for a rule that always counts
 */
export function switchedPatterns(
  { disabled_packs, disabled_rules, watched_packs, watched_rules }: Patterns,
  { packs = {}, rules = {} }: PatternChange,
  path = "body",
): Patterns {
  const off = Object.keys(rules).filter((id) => rules[id] !== true && rules[id] !== undefined);
  const issues = off.filter((id) => FIXED.has(id)).map((id) => ({
    path: `${path}.rules.${id}`,
    message: "always decides: unreadable commands are never allowed without approval",
  }));
  if (issues.length > 0) {
    throw new Fault("VALIDATION_FAILED", "Some rules cannot be switched.", { issues });
  }
  return {
    disabled_packs: named(false, disabled_packs, packs),
    disabled_rules: named(false, disabled_rules, rules),
    watched_packs: named("watch", watched_packs, packs),
    watched_rules: named("watch", watched_rules, rules),
  };
}

/** The names that are switched this way, sorted, so that the same choice always has the same version. */
function named(way: false | "watch", before: readonly string[], change: Switched): string[] {
  const left = new Set(before);
  for (const [name, now] of Object.entries(change)) {
    if (now === way) left.add(name);
    else if (now !== undefined) left.delete(name);
  }
  return [...left].sort();
}

function showPack(pack: Pack, policy: Switches) {
  const rules = RULES.filter((rule) => rule.pack === pack).map((rule) => ({
    id: rule.id,
    enabled: isEnabled(rule, policy),
    watched: onlyWatches(rule, policy),
    fixed: FIXED.has(rule.id),
    risk_score: scoreRule(rule),
    threat: rule.threat,
    explanation: rule.explanation,
  }));
  const enabled = !policy.disabled_packs?.includes(pack);
  return { pack, enabled, watched: policy.watched_packs?.includes(pack) ?? false, rules };
}
