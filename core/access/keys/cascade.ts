import type { Row, Tenant } from "../../../kv/store/collection.ts";
import type { Page, Reader } from "../../../kv/store/reader.ts";
import type { Stepping } from "../../work/work.ts";
import type { Scope } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { Fault } from "../../fault/fault.ts";
import type { Made, MadeKind, MadeType, NamedKind } from "./made_kinds.ts";
import { mustCover } from "./owned.ts";

/** Things that one request reads; the next request handles the rest. */
const FOUND_MAX = 10_000;
/** Things that one request ends, each in its own commit. */
const ENDED_MAX = 1_000;
/** Entries of each list in an answer. */
const NAMED_MAX = 200;
const READ_AT_ONCE = 200;
const SPACES = ["live", "test"] as const;

/** Everything that still works and that a key made, directly or through keys that it made. */
export async function madeWithKey(
  { store, ports }: Pick<Context, "store" | "ports">,
  kinds: readonly NamedKind[],
  org: string,
  keyId: string,
): Promise<Made[]> {
  const found = new Map<string, Made>();
  const keys = new Set([keyId]);
  for (const key of keys) {
    const places = kinds.flatMap((kind) => SPACES.map((space) => ({ kind, space })));
    const lists = await Promise.all(
      places.map(async ({ kind, space }) => {
        const tenant = { org, space };
        const records = await recordsOf(store, tenant, kind, key);
        return records.map((record) => ({ kind, tenant, record }));
      }),
    );
    for (const { kind, tenant, record } of lists.flat()) {
      const { id } = record;
      // Ended keys may have made things too. A key that rotated itself is not another key.
      if (kind.type === "api_key" && kind.index === "made_with") keys.add(id);
      const itself = kind.type === "api_key" && id === keyId;
      const slot = `${kind.type} ${tenant.space} ${id}`;
      if (itself || found.has(slot) || !kind.works(record, ports.clock.now())) continue;
      found.set(slot, { kind, tenant, id });
    }
    if (found.size >= FOUND_MAX || keys.size >= FOUND_MAX) break;
  }
  return [...found.values()].sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
    .slice(0, FOUND_MAX);
}

/** Everything of one kind that a key made in one space. */
async function recordsOf(
  store: Reader,
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
 * Refuses a caller who may not end each of these.
 * @throws {Fault} INSUFFICIENT_SCOPES
 */
export function mustBeAbleToEnd(rights: ReadonlySet<Scope>, made: readonly Made[]): void {
  const needed = new Set(made.flatMap(({ kind: { right } }) => right ?? []));
  mustCover(rights, [...needed], "A cascade needs the rights to end everything that the key made.");
}

/** One thing in an answer, with the reason if it could not be ended. */
interface Shown {
  readonly type: MadeType;
  readonly id: string;
  readonly space: Tenant["space"];
  readonly reason?: string;
}

const show = ({ kind: { type }, id, tenant: { space } }: Made): Shown => ({ type, id, space });

/**
 * Ends everything that a key made, each thing in its own commit: after a crash, or at the limit of one request,
 * the same request continues with the rest. It searches until it finds nothing new, because requests that
 * were under way when the key ended may have made more.
 */
export async function endMadeWithKey(
  work: Stepping,
  kinds: readonly NamedKind[],
  keyId: string,
) {
  const { actor } = work;
  const ended: Shown[] = [];
  const kept = new Map<Made["id"], Shown>();
  for (;;) {
    const made = await madeWithKey(work, kinds, actor.tenant.org, keyId);
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

/** Ends one thing; returns the reason if that was not possible. */
async function endOne(work: Stepping, { kind, tenant, id }: Made): Promise<string | null> {
  const { store, ports, actor } = work;
  try {
    await store.transact(async (tx) => {
      const record = await tx.get(kind.of, tenant, id);
      if (record === null || !kind.works(record, ports.clock.now())) return;
      await kind.end({ ...work, actor: { ...actor, tenant }, db: tx, tx }, id);
    });
    return null;
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

/** Both lists as an answer shows them, bounded and with their totals. */
export const showCascade = (ended: readonly Shown[], left: readonly Shown[]) => ({
  ended: ended.slice(0, NAMED_MAX),
  ended_total: ended.length,
  would_end: left.slice(0, NAMED_MAX),
  would_end_total: left.length,
});

/** The things that a cascade would end now. */
export const wouldEnd = (made: readonly Made[]) => showCascade([], made.map(show));
