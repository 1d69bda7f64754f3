import { APPROVE_SCORE, DENY_SCORE, type Finding, type Rule, type Verdict } from "./model.ts";

/** Blast radius × irreversibility on 0–100: 5 × 5 is 100, 2 × 4 the first that needs approval. */
export function scoreRule(rule: Pick<Rule, "blast" | "irreversibility">): number {
  return 4 * rule.blast * rule.irreversibility;
}

/** Caps the bonus for further findings, so that many small findings cross no threshold that none of them crosses. */
const MAX_COMPANY_POINTS = 5;

/** The score of the worst finding plus a point for each other rule; a further or worse finding never lowers it. */
export function scoreFindings(
  findings: readonly Finding[],
  labels: Readonly<Record<string, string>>,
) {
  let worst = 0;
  const ids = new Set<string>();
  for (const { rule } of findings) {
    worst = Math.max(worst, scoreRule(rule));
    ids.add(rule.id);
  }
  if (worst === 0) return 0;
  const score = Math.min(100, worst + Math.min(ids.size - 1, MAX_COMPANY_POINTS));
  return Math.round(score + (100 - score) * weighLabels(labels));
}

const LABEL_KEYS = new Set(["env", "environment", "stage", "tier", "criticality"]);
const LABEL_WEIGHTS = new Map([
  ["prod", 0.2],
  ["production", 0.2],
  ["live", 0.2],
  ["critical", 0.2],
  ["staging", 0.05],
  ["stage", 0.05],
]);

/** How much of the way to 100 an agent's labels push a score: 0.2 for production. */
function weighLabels(labels: Readonly<Record<string, string>>): number {
  let weight = 0;
  for (const [key, value] of Object.entries(labels)) {
    if (!LABEL_KEYS.has(key.toLowerCase())) continue;
    weight = Math.max(weight, LABEL_WEIGHTS.get(value.toLowerCase()) ?? 0);
  }
  return weight;
}

/** The scores from which a command needs approval, and from which it is refused. */
export interface Thresholds {
  readonly approve: number;
  readonly deny: number;
}

const DEFAULT_THRESHOLDS: Thresholds = { approve: APPROVE_SCORE, deny: DENY_SCORE };

/** The verdict of a score. */
export function judge(score: number, { approve, deny } = DEFAULT_THRESHOLDS): Verdict {
  if (score >= deny) return "deny";
  return score >= approve ? "approve" : "allow";
}
