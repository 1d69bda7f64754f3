import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import type { Reading } from "../../work/work.ts";
import { nextTurn } from "../../ports/ports.ts";
import { iso } from "../../codec/codec.ts";
import type { ShieldResult } from "../../shield/shield.ts";
import { isBuiltIn, type Line, LINE_CHARS_MAX, Proposals } from "./proposals.ts";

/** Requests that one report reads, the newest first. */
const SCAN_MAX = 5_000;
const PAGE = 250;
/** Rules that one report shows. */
const RULES_MAX = 500;
const DAY_MS = 24 * 60 * 60_000;

/** What people decided about the commands that one rule held. */
interface Group {
  held: number;
  approved: number;
  rejected: number;
  expired: number;
  /** How long each approval took. */
  readonly tookMs: number[];
  readonly lines: Set<string>;
}

/**
 * What people decided about held commands, by the rule that held them, and for lines that they always approved the
 * policy's rule that would allow exactly these. All proposals together are one valid policy. Nothing is changed.
 */
export async function suggestRules(work: Reading, { days }: { readonly days: number }) {
  const sinceMs = work.ports.clock.now() - days * DAY_MS;
  const groups = new Map<string, Group>();
  const lines = new Map<string, Line>();
  const { read, complete } = await readResolved(work, sinceMs, (approval) => {
    const [rule] = (approval.shield_result as ShieldResult).rule_ids;
    if (rule === undefined) return;
    const { command } = approval;
    const group = groups.getOrInsertComputed(rule, newGroup);
    countInGroup(group, approval);
    if (command.length > LINE_CHARS_MAX) return;
    group.lines.add(command);
    countLine(lines.getOrInsertComputed(command, newLine), rule, approval);
  });
  const proposals = new Proposals(work, lines);
  const sorted = [...groups].sort(([, a], [, b]) => b.held - a.held).slice(0, RULES_MAX);
  const rules = [];
  for (const [rule, { lines: held, tookMs, ...counts }] of sorted) {
    const proposal = isBuiltIn(rule) ? await proposals.forLines(held) : null;
    rules.push({ rule_id: rule, ...counts, ...timesOf(tookMs), proposal });
  }
  return { since: iso(sinceMs), requests: read, complete, rules };
}

async function readResolved(
  { db, actor: { tenant } }: Reading,
  sinceMs: number,
  take: (approval: ApprovalRecord) => void,
): Promise<{ readonly read: number; readonly complete: boolean }> {
  let read = 0;
  let scanned = 0;
  for await (const approval of everyListed(db, approvals, tenant, { limit: PAGE, reverse: true })) {
    if (approval.created_at_ms < sinceMs) break;
    if (scanned++ === SCAN_MAX) return { read, complete: false };
    if (scanned % PAGE === 0) await nextTurn();
    if (approval.resolved_at_ms === null) continue;
    read++;
    take(approval);
  }
  return { read, complete: true };
}

const newGroup = (): Group => ({
  held: 0,
  approved: 0,
  rejected: 0,
  expired: 0,
  tookMs: [],
  lines: new Set(),
});

const newLine = (): Line => ({ held: 0, approved: 0, isProposable: true, agents: new Set() });

function countInGroup(
  group: Group,
  { status, created_at_ms, resolved_at_ms }: ApprovalRecord,
): void {
  group.held++;
  if (status === "approved") {
    group.approved++;
    group.tookMs.push(resolved_at_ms! - created_at_ms);
  } else if (status === "rejected") group.rejected++;
  else group.expired++;
}

function countLine(line: Line, rule: string, { status, agent_id }: ApprovalRecord): void {
  line.held++;
  if (status === "approved") line.approved++;
  if (!isBuiltIn(rule)) line.isProposable = false;
  line.agents.add(agent_id);
}

function timesOf(tookMs: readonly number[]) {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const secondsAt = (at: number) => sorted.length === 0 ? null : Math.ceil(sorted[at]! / 1000);
  return {
    median_seconds: secondsAt(Math.floor((sorted.length - 1) / 2)),
    slowest_seconds: secondsAt(sorted.length - 1),
  };
}
