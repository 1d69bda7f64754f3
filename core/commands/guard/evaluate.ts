import type { Tenant } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import { agents } from "../../../kv/records/agent.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import { users } from "../../../kv/records/user.ts";
import type { Reading } from "../../work/work.ts";
import { findCommand } from "../finished.ts";
import type { EventRow } from "../../events/events.ts";
import { nextTurn } from "../../ports/turn.ts";
import {
  asksForRoles,
  type Circumstances,
  comparingWork,
  decide,
  type Examination,
  fullBudget,
  type Policy,
  type Verdict,
  type Who,
} from "../../shield/shield.ts";
import { examineAgain } from "./remember.ts";
import { policiesFor, shieldInForce, withPatterns } from "./settings.ts";

/** Work that is done before others get their turn, in characters of ordinary script: some 10 ms. */
const SLICE_WORK = 16 * 1024;
/** What each command costs besides. */
const COMMAND_COST = 256;
const PAGE = 500;
/** Rows of the log that one replay looks at; most rows of a busy log are no commands. */
const SCAN_MAX = 100_000;
/** Agents and people whose labels and roles one replay looks up. */
const LOOKUPS_MAX = 10_000;

type Labels = Circumstances["labels"];

/** What is needed to look at the past: any work that reads. */
export type ReadingAlone = Pick<Reading, "app" | "actor" | "db">;

/** The policy that holds for an agent with these labels. */
export type PolicyFor = (labels: Labels) => Promise<Policy | null>;

/** The policies in force, as they are now. */
function currentPolicy({ app, actor: { tenant }, db }: ReadingAlone): PolicyFor {
  const shield = shieldInForce(db, tenant);
  return async (labels) => (await policiesFor(app, tenant, await shield, labels)).policy;
}

/** Judges commands without running or storing anything. Without a policy the one in force holds. */
export async function evaluateCommands(
  work: Reading,
  { commands, labels = {}, policy }: {
    readonly commands: readonly string[];
    readonly labels?: Labels | undefined;
    readonly policy?: Policy | null | undefined;
  },
) {
  const { app, actor } = work;
  const candidate = policy === undefined
    ? await currentPolicy(work)(labels)
    : await candidatePolicy(work, policy);
  const who = await new People(work).find(actor.id, asksForRoles(candidate));
  const atMs = app.ports.clock.now();
  const slice = new Slice();
  const results = [];
  for (const command of commands) {
    const result = slice.judge(examineAgain(command), candidate, { labels, who, atMs });
    results.push({ command, ...result });
    await slice.ended();
  }
  return { results };
}

/** A policy in place of all that are in force; the patterns that were switched off stay off. */
async function candidatePolicy(
  { db, actor: { tenant } }: ReadingAlone,
  policy: Policy | null,
): Promise<Policy | null> {
  return withPatterns(policy, (await shieldInForce(db, tenant)).own);
}

/** What became of a command, as the log tells. */
interface Past {
  readonly row: EventRow;
  readonly command: string;
  readonly commandId: string;
  readonly recorded: Verdict;
}

/**
 * Runs the last commands of the log through a candidate policy, and answers those whose verdict it would
 * change. The labels and roles are those of now, the hour is that of then.
 */
export async function replayCommands(
  work: ReadingAlone,
  { replay, candidate: candidateFor }: {
    readonly replay: number;
    readonly candidate: PolicyFor;
  },
) {
  const { past, scanned, skipped, complete } = await readPast(work, replay);
  const currentFor = currentPolicy(work);
  const people = new People(work);
  const places = new Places(work);
  const slice = new Slice();
  const changed = [];
  const counts = { allow: 0, approve: 0, deny: 0 };
  for (const { row, command, commandId, recorded } of past) {
    const labels = await places.labelsOf(row.agent_id ?? "");
    const current = await currentFor(labels);
    const candidate = await candidateFor(labels);
    const asked = asksForRoles(candidate) || asksForRoles(current);
    const circumstances = {
      labels,
      who: await people.find(row.actor, asked),
      atMs: Date.parse(row.timestamp),
    };
    const examination = examineAgain(command);
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

/** Runs the last commands of the log through a policy in place of all that are in force. */
export async function replayPolicy(work: ReadingAlone, replay: number, policy: Policy | null) {
  const candidate = await candidatePolicy(work, policy);
  return await replayCommands(work, { replay, candidate: () => Promise.resolve(candidate) });
}

/** The last `count` commands of the log, newest first. */
async function readPast(work: ReadingAlone, count: number) {
  const { app, actor: { tenant } } = work;
  await app.log.flush();
  const past = new Map<string, Past>();
  let before = await app.log.head(tenant) + 1;
  let scanned = 0;
  let skipped = 0;
  while (before > 1 && scanned < SCAN_MAX && past.size < count) {
    const page = await app.log.readBack(tenant, before, PAGE);
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

/** Events that hold a command, and the verdict that led to them; the first of a command is the one that counts. */
const VERDICTS: ReadonlyMap<string, Verdict> = new Map([
  ["command_executed", "allow"],
  ["command_denied", "deny"],
  ["approval_requested", "approve"],
]);

/** The command of a row; null when the event was too short for it and its record is gone. */
async function readRow(
  { app, db }: ReadingAlone,
  tenant: Tenant,
  { json }: Sequenced,
  recorded: Verdict,
): Promise<Past | null> {
  const row = JSON.parse(json) as EventRow;
  const { command, command_id, command_truncated } = row.details;
  const commandId = typeof command_id === "string" ? command_id : row.resource_id;
  if (typeof command !== "string") return null;
  if (command_truncated !== true) return { row, command, commandId, recorded };
  const record = await findCommand(db, app.store, tenant, commandId);
  return record && { row, command: record.command, commandId, recorded };
}

/** Counts work, and gives way to others after each slice of it. */
class Slice {
  #left = SLICE_WORK;

  judge(examination: Examination, policy: Policy | null, circumstances: Circumstances) {
    const comparing = fullBudget();
    const { result } = decide(examination, policy, circumstances, comparing);
    this.#left -= COMMAND_COST + examination.work + comparingWork(comparing);
    return result;
  }

  /** A command was judged. */
  async ended(): Promise<void> {
    if (this.#left > 0) return;
    await nextTurn();
    this.#left = SLICE_WORK;
  }
}

/** Who stands behind users and keys, looked up once each and only where a policy asks. */
class People {
  readonly #known = new Map<string, Who>();

  constructor(private readonly work: ReadingAlone) {}

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

/** The labels of agents, looked up once each; none for one that is gone. */
class Places {
  readonly #known = new Map<string, Labels>();

  constructor(private readonly work: ReadingAlone) {}

  async labelsOf(agentId: string): Promise<Labels> {
    const known = this.#known.get(agentId);
    if (known !== undefined) return known;
    const agent = await this.work.db.get(agents, this.work.actor.tenant, agentId);
    const labels = agent?.labels ?? {};
    if (this.#known.size < LOOKUPS_MAX) this.#known.set(agentId, labels);
    return labels;
  }
}
