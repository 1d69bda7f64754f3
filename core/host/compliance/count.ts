import type { EventRow } from "../../events/events.ts";
import { isFromOutside, QUERIES, queriesMatching, type Query, type QueryName } from "./queries.ts";

/** Limits above what a reviewer reads, which together keep the counts within one blob. */
export const TYPES_MAX = 200;
export const ACTORS_MAX = 3_000;
export const AGENTS_MAX = 500;
const LINKS_MAX = 1_000;
export const APPROVALS_MAX = 300;
export const EXCEPTIONS_MAX = 500;
const TEXT_MAX = 200;

/** A reference to a row of the log. */
export interface Pointer {
  readonly seq: number;
  readonly event_id: string;
  readonly timestamp: string;
}

/** The result of a query. */
export interface Tally {
  rows: number;
  first: Pointer | null;
  last: Pointer | null;
}

/** The activity of an actor in the period. */
export interface Activity {
  rows: number;
  last_at: string;
}

/** A resolved approval. */
export interface DecidedApproval extends Pointer {
  readonly approval_id: string;
  readonly agent_id: string | null;
  readonly command: string;
  readonly decision: string;
  readonly requested_by: string | null;
  readonly decided_by: string | null;
  readonly reason: string | null;
}

/** A row that a reviewer should examine. */
export interface Exception extends Pointer {
  readonly query: QueryName;
  readonly event_type: string;
  readonly actor: string;
  readonly resource_type: string;
  readonly resource_id: string;
}

/** An agent's rows by query about commands. */
export type Outcomes = Partial<Record<QueryName, number>>;

/** The counts of a period's rows so far, of bounded size. */
export interface Counted {
  rows: number;
  /** Rows registered by callers. */
  from_outside: number;
  /** Rows that the checkpoint covers and that are missing. */
  not_kept: number;
  /** Rows that no longer hash to their leaf of the tree. */
  altered: number;
  readonly types: Map<string, number>;
  readonly tallies: Map<QueryName, Tally>;
  readonly actors: Map<string, Activity>;
  /** The user of each Telegram link that was created or deleted. Rows name the link as their actor. */
  readonly links: Map<string, string>;
  /** Outcomes of commands by agent. */
  readonly agents: Map<string, Outcomes>;
  readonly approvals: DecidedApproval[];
  approvals_found: number;
  readonly exceptions: Exception[];
  exceptions_found: number;
}

/** Counts of zero. */
export const countedNothing = (): Counted => ({
  rows: 0,
  from_outside: 0,
  not_kept: 0,
  altered: 0,
  types: new Map(),
  tallies: new Map(),
  actors: new Map(),
  links: new Map(),
  agents: new Map(),
  approvals: [],
  approvals_found: 0,
  exceptions: [],
  exceptions_found: 0,
});

/** Counts one row of the period for the queries of the report. */
export function countRow(
  counted: Counted,
  wanted: ReadonlySet<QueryName>,
  seq: number,
  row: EventRow,
): void {
  const { event_id, timestamp } = row;
  const at = { seq, event_id, timestamp };
  counted.rows++;
  count(counted.types, row.event_type, TYPES_MAX);
  if (isFromOutside(row)) {
    counted.from_outside++;
    return;
  }
  const activity = entryOf(counted.actors, row.actor, ACTORS_MAX, () => ({ rows: 0, last_at: "" }));
  if (activity !== null) Object.assign(activity, { rows: activity.rows + 1, last_at: timestamp });
  const owner = linkOwnerOf(row);
  if (owner !== null) entryOf(counted.links, row.resource_id, LINKS_MAX, () => owner);
  for (const name of queriesMatching(row)) {
    if (!wanted.has(name)) continue;
    const tally = entryOf(counted.tallies, name, Infinity, NO_TALLY)!;
    Object.assign(tally, { rows: tally.rows + 1, first: tally.first ?? at, last: at });
    if ((QUERIES[name] as Query).exception) noteException(counted, name, row, at);
    if (name.startsWith("commands_") && row.agent_id !== undefined) {
      const agent = entryOf(counted.agents, row.agent_id, AGENTS_MAX, (): Outcomes => ({}));
      if (agent !== null) agent[name] = (agent[name] ?? 0) + 1;
    }
  }
  if (row.event_type !== "approval_resolved") return;
  counted.approvals_found++;
  if (counted.approvals.length < APPROVALS_MAX) counted.approvals.push(decided(row, at));
}

function linkOwnerOf({ event_type, actor, details }: EventRow): string | null {
  if (event_type === "telegram_linked") return actor;
  return event_type === "telegram_unlinked" ? textOf(details.user_id) : null;
}

const NO_TALLY = (): Tally => ({ rows: 0, first: null, last: null });

function noteException(counted: Counted, query: QueryName, row: EventRow, at: Pointer): void {
  counted.exceptions_found++;
  if (counted.exceptions.length === EXCEPTIONS_MAX) return;
  const { event_type, actor, resource_type, resource_id } = row;
  counted.exceptions.push({ ...at, query, event_type, actor, resource_type, resource_id });
}

function decided({ details, agent_id, resource_id }: EventRow, at: Pointer): DecidedApproval {
  return {
    ...at,
    approval_id: resource_id,
    agent_id: agent_id ?? null,
    command: textOf(details.command) ?? "",
    decision: textOf(details.decision) ?? "",
    requested_by: textOf(details.requested_by),
    decided_by: textOf(details.decided_by),
    reason: textOf(details.reason),
  };
}

const textOf = (value: unknown): string | null =>
  typeof value === "string" ? value.slice(0, TEXT_MAX).toWellFormed() : null;

function count(counts: Map<string, number>, name: string, max: number): void {
  if (counts.has(name) || counts.size < max) counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The entry of a map of at most `max` entries; null when it is full. */
function entryOf<K, V>(map: Map<K, V>, key: K, max: number, make: () => V): V | null {
  const known = map.get(key);
  if (known !== undefined) return known;
  if (map.size >= max) return null;
  const made = make();
  map.set(key, made);
  return made;
}

const MAPS = ["types", "tallies", "actors", "links", "agents"] as const;

/** Serializes the counts, so that a later step continues from them. */
export function saveCounted(counted: Counted): Uint8Array {
  const flat: Record<string, unknown> = { ...counted };
  for (const name of MAPS) flat[name] = [...counted[name]];
  return new TextEncoder().encode(JSON.stringify(flat));
}

/** Parses what `saveCounted` wrote. */
export function loadCounted(bytes: Uint8Array): Counted {
  const flat = JSON.parse(new TextDecoder().decode(bytes));
  for (const name of MAPS) flat[name] = new Map(flat[name]);
  return flat as Counted;
}
