import type { Row, Tenant } from "../../../kv/store/collection.ts";
import type { Page } from "../../../kv/store/reader.ts";
import type { App, Stepping } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import type { Scope } from "../../work/scopes.ts";
import { type Made, MADE_KINDS, type MadeKind } from "./made_things.ts";
import { mustCover } from "./owned.ts";

/** How many things one request looks at; what it did not reach is for the next one. */
const FOUND_MAX = 10_000;
/** How many things one request ends, each in a commit of its own. */
const ENDED_MAX = 1_000;
/** How many of each list an answer names. */
const NAMED_MAX = 200;
const READ_AT_ONCE = 200;
const SPACES = ["live", "test"] as const;

/** What still works of what a key made, and of what keys that it made have made in turn. */
export async function madeWithKey(app: App, org: string, keyId: string): Promise<Made[]> {
  const found = new Map<string, Made>();
  const keys = new Set([keyId]);
  for (const key of keys) {
    const places = MADE_KINDS.flatMap((kind) => SPACES.map((space) => ({ kind, space })));
    const lists = await Promise.all(
      places.map(async ({ kind, space }) => {
        const tenant = { org, space };
        const records = await recordsOf(app, tenant, kind, key);
        return records.map((record) => ({ kind, tenant, record }));
      }),
    );
    for (const { kind, tenant, record } of lists.flat()) {
      const { id } = record;
      // Keys that it made are looked at in turn, also when they are over; one that rotated itself is no other.
      if (kind.type === "api_key" && kind.index === "made_with") keys.add(id);
      const itself = kind.type === "api_key" && id === keyId;
      const slot = `${kind.type} ${tenant.space} ${id}`;
      if (itself || found.has(slot) || !kind.works(record, app.ports.clock.now())) continue;
      found.set(slot, { kind, tenant, id });
    }
    if (found.size >= FOUND_MAX || keys.size >= FOUND_MAX) break;
  }
  return [...found.values()].sort((a, b) => MADE_KINDS.indexOf(a.kind) - MADE_KINDS.indexOf(b.kind))
    .slice(0, FOUND_MAX);
}

/** All of one kind that a key made in one space. */
async function recordsOf(
  { store }: App,
  tenant: Tenant,
  { of, index }: MadeKind,
  key: string,
): Promise<Row[]> {
  const records: Row[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<Row> = await store.list(of, tenant, {
      index,
      prefix: ["api_key", key],
      limit: READ_AT_ONCE,
      cursor,
    });
    records.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== null && records.length < FOUND_MAX);
  return records;
}

/**
 * That the caller may end every kind of thing among these.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
export function mustBeAbleToEnd(rights: ReadonlySet<Scope>, made: readonly Made[]): void {
  const needed = new Set(made.flatMap(({ kind: { right } }) => right ?? []));
  mustCover(rights, [...needed], "Ending what the key made takes the rights to end each of it.");
}

/** Something in an answer; with the reason why it could not be ended. */
interface Shown {
  readonly type: string;
  readonly id: string;
  readonly space: Tenant["space"];
  readonly reason?: string;
}

const show = ({ kind: { type }, id, tenant: { space } }: Made): Shown => ({ type, id, space });

/**
 * Ends everything that a key made, in steps that each commit: a crash or the bound of one request leaves
 * the rest, and asking again goes on. It looks again until nothing is new, because what was under way
 * when the key ended may have come after the first look.
 */
export async function endMadeWithKey(work: Stepping, keyId: string) {
  const { app, actor } = work;
  const ended: Shown[] = [];
  const kept = new Map<Made["id"], Shown>();
  for (;;) {
    const made = await madeWithKey(app, actor.tenant.org, keyId);
    const next = made.filter(({ id }) => !kept.has(id));
    if (next.length === 0 || ended.length >= ENDED_MAX) {
      return { ended, left: made.map((each) => kept.get(each.id) ?? show(each)) };
    }
    for (const each of next.slice(0, ENDED_MAX - ended.length)) {
      const reason = await endOne(work, each);
      if (reason === null) ended.push(show(each));
      else kept.set(each.id, { ...show(each), reason });
    }
  }
}

/** Ends one thing; answers why it was not possible, or null. */
async function endOne(work: Stepping, { kind, tenant, id }: Made): Promise<string | null> {
  const { app, actor, request } = work;
  try {
    await app.store.transact(async (tx) => {
      const record = await tx.get(kind.of, tenant, id);
      if (record === null || !kind.works(record, app.ports.clock.now())) return;
      await kind.end({ ...app, app, request, actor: { ...actor, tenant }, db: tx, tx }, id);
    });
    return null;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

/** Two lists as an answer has them, bounded and with their totals. */
export const showCascade = (ended: readonly Shown[], left: readonly Shown[]) => ({
  ended: ended.slice(0, NAMED_MAX),
  ended_total: ended.length,
  would_end: left.slice(0, NAMED_MAX),
  would_end_total: left.length,
});

/** What a cascade would end now. */
export const wouldEnd = (made: readonly Made[]) => showCascade([], made.map(show));
