import type { Tenant } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import { agents } from "../../../kv/records/agent.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import type { ShieldSettingsRecord } from "../../../kv/records/shield.ts";
import { users } from "../../../kv/records/user.ts";
import type { Reading } from "../../work/work.ts";
import { findCommand } from "../commands/finished.ts";
import type { EventRow } from "../../events/events.ts";
import { nextTurn } from "../../ports/ports.ts";
import {
  asksForRoles,
  type Circumstances,
  type Policy,
  type Verdict,
  type Who,
} from "../../shield/shield.ts";
import { cachedExamination } from "./examination_cache.ts";
import {
  ownPolicy,
  policiesFor,
  type PoliciesInForce,
  shieldInForce,
  withPatterns,
  withVersion,
} from "./in_force.ts";
import { type PatternChange, switchedPatterns } from "./patterns.ts";
import { Slice } from "./slice.ts";

const PAGE = 500;
/** Rows of the log that one replay reads; most rows of a busy log are not commands. */
const SCAN_MAX = 100_000;
/** Agents and people whose labels and roles one replay remembers. */
const LOOKUPS_MAX = 10_000;

type Labels = Circumstances["labels"];

/** The parts of a work that a replay reads with. */
export type ReplayWork = Pick<Reading, "actor" | "db" | "log" | "store">;

/** The policy that holds for an agent with these labels. */
export type PolicyFor = (labels: Labels) => Promise<Policy | null>;

/** What to judge by in place of what is in force. */
interface Candidate {
  /** Replaces all policies; null for none. */
  readonly policy?: Policy | null | undefined;
  /** Switches built-in rules on top of the settings. */
  readonly patterns?: PatternChange | undefined;
}

/** The policies in force now, as far as the candidate leaves them. */
async function policiesWith(
  { actor: { tenant }, db }: ReplayWork,
  policies: PoliciesInForce,
  { policy, patterns }: Candidate = {},
): Promise<PolicyFor> {
  const shield = await shieldInForce(db, tenant);
  const own = patterns === undefined ? shield.own : switchedSettings(shield.own, patterns);
  if (policy === undefined) {
    return async (labels) =>
      (await policiesFor(policies, tenant, { ...shield, own }, labels)).policy;
  }
  const candidate = withPatterns(policy, own);
  return () => Promise.resolve(candidate);
}

/** The settings with other switches. */
function switchedSettings(own: ShieldSettingsRecord, change: PatternChange): ShieldSettingsRecord {
  const { id: _id, version: _version, ...choices } = own;
  const patterns = switchedPatterns(choices.patterns, change, "body.patterns");
  return withVersion({ ...choices, policy: ownPolicy(own), patterns });
}

/**
 * Judges commands without running or storing anything.
 * @throws {Fault} VALIDATION_FAILED for a rule that cannot be switched
 */
export async function evaluateCommands(
  work: Reading,
  policies: PoliciesInForce,
  { commands, labels = {}, ...by }: Candidate & {
    readonly commands: readonly string[];
    readonly labels?: Labels | undefined;
  },
) {
  const { actor, ports } = work;
  const candidate = await (await policiesWith(work, policies, by))(labels);
  const who = await new People(work).find(actor.id, asksForRoles(candidate));
  const atMs = ports.clock.now();
  const slice = new Slice();
  const results = [];
  for (const command of commands) {
    const result = slice.judge(cachedExamination(command), candidate, { labels, who, atMs });
    results.push({ command, ...result });
    await slice.ended();
  }
  return { results };
}

/** A command and its recorded verdict, from the log. */
interface Past {
  readonly row: EventRow;
  readonly command: string;
  readonly commandId: string;
  readonly recorded: Verdict;
}

/**
 * Judges the last commands of the log by a candidate policy, and returns those whose verdict would change. Labels
 * and roles are the current ones; the time is that of the command.
 */
export async function replayCommands(
  work: ReplayWork,
  policies: PoliciesInForce,
  { replay, candidate: candidateFor }: {
    readonly replay: number;
    readonly candidate: PolicyFor;
  },
) {
  const { past, scanned, skipped, complete } = await readPast(work, replay);
  const currentFor = await policiesWith(work, policies);
  const people = new People(work);
  const agentLabels = new AgentLabels(work);
  const slice = new Slice();
  const changed = [];
  const counts = { allow: 0, approve: 0, deny: 0 };
  for (const { row, command, commandId, recorded } of past) {
    const labels = await agentLabels.of(row.agent_id ?? "");
    const current = await currentFor(labels);
    const candidate = await candidateFor(labels);
    const asked = asksForRoles(candidate) || asksForRoles(current);
    const circumstances = {
      labels,
      who: await people.find(row.actor, asked),
      atMs: Date.parse(row.timestamp),
    };
    const examination = cachedExamination(command);
    const before = slice.judge(examination, current, circumstances).verdict;
    const result = slice.judge(examination, candidate, circumstances);
    await slice.ended();
    counts[result.verdict]++;
    if (result.verdict === before) continue;
    const where = { agent_id: row.agent_id ?? null, command_id: commandId, at: row.timestamp };
    changed.push({ command, ...where, recorded, before, ...result });
  }
  return { replayed: past.length, changed, counts, scanned, skipped, complete };
}

/**
 * Judges the last commands of the log by a candidate.
 * @throws {Fault} VALIDATION_FAILED for a rule that cannot be switched
 */
export async function replayCandidate(
  work: ReplayWork,
  policies: PoliciesInForce,
  replay: number,
  by: Candidate,
) {
  const candidate = await policiesWith(work, policies, by);
  return await replayCommands(work, policies, { replay, candidate });
}

/** The last `count` commands of the log, newest first. */
async function readPast(work: ReplayWork, count: number) {
  const { actor: { tenant }, log } = work;
  await log.flush();
  const past = new Map<string, Past>();
  let before = await log.head(tenant) + 1;
  let scanned = 0;
  let skipped = 0;
  while (before > 1 && scanned < SCAN_MAX && past.size < count) {
    const page = await log.readBack(tenant, before, PAGE);
    if (page.length === 0) break;
    for (const sequenced of page) {
      if (past.size >= count) break;
      before = sequenced.seq;
      scanned++;
      const recorded = VERDICTS.get(sequenced.type);
      if (recorded === undefined) continue;
      const one = await readRow(work, tenant, sequenced, recorded);
      if (one === null) skipped++;
      else past.set(one.commandId, one);
    }
    await nextTurn();
  }
  const complete = past.size >= count || before <= 1;
  return { past: past.values().toArray().slice(0, count), scanned, skipped, complete };
}

/** Events that hold a command, and the verdict that led to them; the first event of a command counts. */
const VERDICTS: ReadonlyMap<string, Verdict> = new Map([
  ["command_executed", "allow"],
  ["command_denied", "deny"],
  ["approval_requested", "approve"],
]);

/** The command of a row; null when the row holds only part of its text and its record is gone. */
async function readRow(
  { db, store }: ReplayWork,
  tenant: Tenant,
  { json }: Sequenced,
  recorded: Verdict,
): Promise<Past | null> {
  const row = JSON.parse(json) as EventRow;
  const { command, command_id, command_truncated } = row.details;
  const commandId = typeof command_id === "string" ? command_id : row.resource_id;
  if (typeof command !== "string") return null;
  if (command_truncated !== true) return { row, command, commandId, recorded };
  const record = await findCommand(db, store, tenant, commandId);
  return record && { row, command: record.command, commandId, recorded };
}

/** The people behind users and keys, each read once and only if a policy names roles. */
class People {
  readonly #known = new Map<string, Who>();

  constructor(private readonly work: ReplayWork) {}

  async find(actorId: string, asked: boolean): Promise<Who> {
    if (!asked) return { userId: actorId, actorId, roles: [] };
    const known = this.#known.get(actorId);
    if (known !== undefined) return known;
    const { db, actor: { tenant } } = this.work;
    const key = await db.get(apiKeys, tenant, actorId);
    const userId = key?.created_by ?? actorId;
    const user = await db.get(users, { org: tenant.org, space: "live" }, userId);
    const who = { userId, actorId, roles: user?.roles ?? [] };
    if (this.#known.size < LOOKUPS_MAX) this.#known.set(actorId, who);
    return who;
  }
}

/** The labels of agents, each read once; none for a deleted agent. */
class AgentLabels {
  readonly #known = new Map<string, Labels>();

  constructor(private readonly work: ReplayWork) {}

  async of(agentId: string): Promise<Labels> {
    const known = this.#known.get(agentId);
    if (known !== undefined) return known;
    const agent = await this.work.db.get(agents, this.work.actor.tenant, agentId);
    const labels = agent?.labels ?? {};
    if (this.#known.size < LOOKUPS_MAX) this.#known.set(agentId, labels);
    return labels;
  }
}
