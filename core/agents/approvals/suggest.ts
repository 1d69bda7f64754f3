import { agents } from "../../../kv/records/agent.ts";
import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import type { Reading } from "../../work/work.ts";
import { nextTurn } from "../../ports/ports.ts";
import { iso } from "../../codec/codec.ts";
import {
  decide,
  examineCommand,
  isFullyKnown,
  type Policy,
  RULES,
  type ShieldResult,
} from "../../shield/shield.ts";

/** Requests that one report reads, the newest first. */
const SCAN_MAX = 5_000;
const PAGE = 250;
/** A line is proposed when people approved it this often, and never decided otherwise. */
const APPROVED_MIN = 3;
/** Bounds of all proposals of a report together, so that they fit into one policy: lines, and their characters. */
const LINES_MAX = 60;
const CHARS_MAX = 12 * 1024;
const LINE_CHARS_MAX = 1_024;
const RULES_SHOWN_MAX = 200;
const DAY_MS = 24 * 60 * 60_000;

/** The rules whose held lines may be proposed; chains and rules of policies are not lifted by an allowed line. */
const BUILT_IN = new Set(RULES.filter(({ pack }) => pack !== "behaviour").map(({ id }) => id));

/** What people decided about one command line, whichever rules held it. */
interface Line {
  held: number;
  approved: number;
  /** The agents that it was approved for; null once one request was for many. */
  agents: Set<string> | null;
}

/** What people decided about the commands that one rule held. */
interface Group {
  held: number;
  approved: number;
  rejected: number;
  expired: number;
  /** How long each approval took. */
  readonly tookMs: number[];
  readonly commands: Set<string>;
}

/** What a report has left for proposals. */
interface Budget {
  lines: number;
  chars: number;
}

/**
 * What people decided about held commands, by the rule that held them, and for lines that they always approved the
 * policy that would allow exactly these on agents alike. Nothing is changed.
 */
export async function suggestRules(work: Reading, { days }: { readonly days: number }) {
  const sinceMs = work.ports.clock.now() - days * DAY_MS;
  const groups = new Map<string, Group>(), lines = new Map<string, Line>();
  const { read, complete } = await readResolved(work, sinceMs, (approval) => {
    const [rule] = (approval.shield_result as ShieldResult).rule_ids;
    if (rule !== undefined) count(groups, lines, rule, approval);
  });
  const sorted = [...groups].sort(([, a], [, b]) => b.held - a.held).slice(0, RULES_SHOWN_MAX);
  const budget = { lines: LINES_MAX, chars: CHARS_MAX };
  const rules = [];
  for (const [rule, group] of sorted) {
    const proposal = await proposalFor(work, rule, group, lines, budget, rules.length + 1);
    rules.push({ ...showGroup(rule, group), proposal });
  }
  return { since: iso(sinceMs), requests: read, complete, rules };
}

async function readResolved(
  { db, actor: { tenant } }: Reading,
  sinceMs: number,
  take: (approval: ApprovalRecord) => void,
): Promise<{ readonly read: number; readonly complete: boolean }> {
  let seen = 0, read = 0;
  for await (const approval of everyListed(db, approvals, tenant, { limit: PAGE, reverse: true })) {
    if (approval.created_at_ms < sinceMs) break;
    if (seen++ === SCAN_MAX) return { read, complete: false };
    if (approval.resolved_at_ms === null) continue;
    read++;
    take(approval);
  }
  return { read, complete: true };
}

function count(
  groups: Map<string, Group>,
  lines: Map<string, Line>,
  rule: string,
  { command, agent_id, status, created_at_ms, resolved_at_ms }: ApprovalRecord,
): void {
  const group = groups.getOrInsertComputed(rule, () => ({
    held: 0,
    approved: 0,
    rejected: 0,
    expired: 0,
    tookMs: [],
    commands: new Set(),
  }));
  group.held++;
  if (status === "approved") {
    group.approved++;
    group.tookMs.push(resolved_at_ms! - created_at_ms);
  } else if (status === "rejected") group.rejected++;
  else group.expired++;
  if (command.length > LINE_CHARS_MAX) return;
  group.commands.add(command);
  const line = lines.getOrInsertComputed(
    command,
    () => ({ held: 0, approved: 0, agents: new Set() }),
  );
  line.held++;
  if (status === "approved") line.approved++;
  if (agent_id === null) line.agents = null;
  else line.agents?.add(agent_id);
}

function showGroup(rule: string, { commands: _, tookMs, ...counts }: Group) {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const secondsAt = (at: number) => sorted.length === 0 ? null : Math.ceil(sorted[at]! / 1000);
  return {
    rule_id: rule,
    ...counts,
    median_seconds: secondsAt(Math.floor((sorted.length - 1) / 2)),
    slowest_seconds: secondsAt(sorted.length - 1),
  };
}

/** A policy that allows the lines that were always approved; null when there is none, or it would not do so. */
async function proposalFor(
  work: Reading,
  rule: string,
  { commands }: Group,
  known: ReadonlyMap<string, Line>,
  budget: Budget,
  number: number,
): Promise<Policy | null> {
  if (!BUILT_IN.has(rule)) return null;
  const always = [...commands].map((command) => ({ command, ...known.get(command)! }))
    .filter(({ held, approved }) => approved >= APPROVED_MIN && approved === held)
    .sort((a, b) => b.held - a.held);
  const lines: string[] = [], agentIds = new Set<string>();
  let many = false;
  for (const { command, agents } of always) {
    if (budget.lines === 0 || budget.chars < command.length) break;
    await nextTurn();
    if (!isLifted(command)) continue;
    budget.lines--;
    budget.chars -= command.length;
    lines.push(command);
    many ||= agents === null;
    agents?.forEach((id) => agentIds.add(id));
  }
  if (lines.length === 0) return null;
  const labels = many ? {} : await sharedLabels(work, agentIds);
  const test = Object.keys(labels).length === 0 ? {} : { labels };
  return {
    rules: [{
      id: `always-approved-${number}`,
      description: `people approved exactly these lines every time, which ${rule} held`,
      match: { lines, ...test },
      verdict: "allow",
    }],
    tests: lines.map((command) => ({ command, ...test, expect: "allow" })),
  };
}

/** A line that may hold a secret is not for a repository. */
const SECRET = /(?:pass(?:word|wd)?|secret|token|api[-_]?key|credential)\S*[=: ]\S/i;

/** Whether an allowed line runs: nothing in it is known only when it runs, and no other finding stays. */
function isLifted(command: string): boolean {
  if (SECRET.test(command)) return false;
  const examination = examineCommand(command);
  if (!isFullyKnown(examination)) return false;
  const rules = [{ id: "line", match: { lines: [command] }, verdict: "allow" as const }];
  const where = { labels: {}, who: null, atMs: null };
  return decide(examination, { rules }, where).result.verdict === "allow";
}

/** The labels that all these agents have now. */
async function sharedLabels(
  { db, actor: { tenant } }: Reading,
  ids: ReadonlySet<string>,
): Promise<Record<string, string>> {
  let shared: [string, string][] | null = null;
  for (const id of ids) {
    const labels = (await db.get(agents, tenant, id))?.labels ?? {};
    shared = (shared ?? Object.entries(labels)).filter(([key, value]) => labels[key] === value);
    if (shared.length === 0) break;
  }
  return Object.fromEntries((shared ?? []).slice(0, 16));
}
