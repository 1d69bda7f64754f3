import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import type { Reading } from "../../work/work.ts";
import { nextTurn } from "../../ports/ports.ts";
import { iso } from "../../codec/codec.ts";
import { decide, type Policy, type PolicyRule, type ShieldResult } from "../../shield/shield.ts";
import { cachedExamination } from "../guard/examination_cache.ts";

/** Requests that one report reads, the newest first. */
const SCAN_MAX = 5_000;
const PAGE = 250;
/** A line is proposed when people approved it this often, and never did otherwise. */
const APPROVED_MIN = 3;
/** The most lines of one proposal, the most that a policy's rule may hold. */
const LINES_MAX = 64;
const LINE_CHARS_MAX = 4 * 1024;
const DAY_MS = 24 * 60 * 60_000;

/** What people decided about one command line. */
interface Line {
  readonly command: string;
  held: number;
  approved: number;
}

/** What people decided about the commands that one rule held. */
interface Group {
  held: number;
  approved: number;
  rejected: number;
  expired: number;
  /** How long each approval took. */
  readonly tookMs: number[];
  readonly lines: Map<string, Line>;
}

/**
 * What people decided about held commands, by the rule that held them, and for lines that they always approved the
 * policy's rule that would allow exactly these. Nothing is changed.
 */
export async function suggestRules(work: Reading, { days }: { readonly days: number }) {
  const { ports } = work;
  const sinceMs = ports.clock.now() - days * DAY_MS;
  const groups = new Map<string, Group>();
  const { read, complete } = await readResolved(work, sinceMs, (approval) => {
    const [rule] = (approval.shield_result as ShieldResult).rule_ids;
    if (rule !== undefined) count(groups, rule, approval);
  });
  const rules = [...groups].sort(([, a], [, b]) => b.held - a.held)
    .map(([rule, group]) => showGroup(rule, group));
  return { since: iso(sinceMs), requests: read, complete, rules };
}

async function readResolved(
  { db, actor: { tenant } }: Reading,
  sinceMs: number,
  take: (approval: ApprovalRecord) => void,
): Promise<{ readonly read: number; readonly complete: boolean }> {
  let read = 0;
  for (let offset = 0; offset < SCAN_MAX; offset += PAGE) {
    const paging = { limit: PAGE, offset, reverse: true };
    const { items } = await db.list(approvals, tenant, paging);
    for (const approval of items) {
      if (approval.created_at_ms < sinceMs) return { read, complete: true };
      if (approval.resolved_at_ms === null) continue;
      read++;
      take(approval);
    }
    if (items.length < PAGE) return { read, complete: true };
    await nextTurn();
  }
  return { read, complete: false };
}

function count(groups: Map<string, Group>, rule: string, approval: ApprovalRecord): void {
  const group = groups.getOrInsertComputed(rule, () => ({
    held: 0,
    approved: 0,
    rejected: 0,
    expired: 0,
    tookMs: [],
    lines: new Map(),
  }));
  const { command, status, created_at_ms, resolved_at_ms } = approval;
  const line = group.lines.getOrInsertComputed(command, () => ({ command, held: 0, approved: 0 }));
  group.held++;
  line.held++;
  if (status === "approved") {
    group.approved++;
    line.approved++;
    group.tookMs.push(resolved_at_ms! - created_at_ms);
  } else if (status === "rejected") group.rejected++;
  else group.expired++;
}

function showGroup(rule: string, { lines, tookMs, ...counts }: Group) {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const secondsAt = (at: number) => sorted.length === 0 ? null : Math.ceil(sorted[at]! / 1000);
  return {
    rule_id: rule,
    ...counts,
    median_seconds: secondsAt(Math.floor((sorted.length - 1) / 2)),
    slowest_seconds: secondsAt(sorted.length - 1),
    proposal: proposalFor(rule, lines.values().toArray()),
  };
}

/** A rule that allows the lines that were always approved; null when there is none, or it would not do so. */
function proposalFor(rule: string, lines: readonly Line[]): Policy | null {
  const always = lines.filter(({ command, held, approved }) =>
    approved >= APPROVED_MIN && approved === held && command.length <= LINE_CHARS_MAX
  ).sort((a, b) => b.held - a.held).map(({ command }) => command);
  const allowed = always.filter((command) => isAllowedBy(allowing(rule, [command]), command));
  if (allowed.length === 0) return null;
  const proposed = allowed.slice(0, LINES_MAX);
  return {
    rules: [allowing(rule, proposed)],
    tests: proposed.map((command) => ({ command, expect: "allow" as const })),
  };
}

const allowing = (rule: string, lines: string[]): PolicyRule => ({
  id: `always-approved.${rule}`.slice(0, 64),
  description: "people approved exactly these lines every time",
  match: { lines },
  verdict: "allow",
});

const isAllowedBy = (rule: PolicyRule, command: string): boolean =>
  decide(cachedExamination(command), { rules: [rule] }, { labels: {}, who: null, atMs: null })
    .result.verdict === "allow";
