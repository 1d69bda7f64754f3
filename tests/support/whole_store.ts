import { canonicalJson } from "../../core/codec/canonical.ts";
import type { Collection } from "../../kv/store/collection.ts";

type Row = { id: string };
type Entries = readonly (readonly [key: Deno.KvKey, value: unknown])[];

const RECORDS = new URL("../../kv/records/", import.meta.url);

/** Every collection that is declared, by its name. */
export async function collections(): Promise<Map<string, Collection<Row>>> {
  const found = new Map<string, Collection<Row>>();
  for (const { name } of Deno.readDirSync(RECORDS)) {
    const declared: Record<string, unknown> = await import(new URL(name, RECORDS).href);
    for (const each of Object.values(declared)) {
      const of = each as Partial<Collection<Row>> | null;
      if (of?.unique !== undefined && of.queue !== undefined) {
        found.set(of.name!, of as Collection<Row>);
      }
    }
  }
  return found;
}

/**
 * What does not fit together in a store at rest: records without their index entries, entries without their
 * record, counters that are not what a recount says, and chunks of large values that nothing refers to.
 */
export async function faultsOfStore(kv: Deno.Kv): Promise<string[]> {
  const declared = await collections();
  const stored = new Map<string, unknown>(), expected = new Map<string, unknown>();
  /** Chunks of values that were not written to their end; a sweep removes what there is of them. */
  const begun = new Set<string>();
  const checked = new Set<string>();
  for (const of of declared.values()) {
    for (const index of Object.keys({ ...of.unique, ...of.lookup, ...of.index, ...of.queue })) {
      checked.add(`${of.name}.${index}`);
    }
    if (of.counted) checked.add(`${of.name}#`);
  }
  for await (const { key, value } of kv.list({ prefix: [] })) {
    const [org, space, kind] = key as [string, string, string];
    const of = declared.get(kind);
    if (of !== undefined && key.length === 4) {
      for (const [at, entry] of entriesOf(of, org, space, value as Row)) {
        expected.set(textOf(at), entry);
      }
      const counter = textOf([org, space, `${kind}#`]);
      if (of.counted) expected.set(counter, Number(expected.get(counter) ?? 0) + 1);
    }
    for (const at of chunksIn(org, space, value)) {
      if (kind === "blob_orphans") begun.add(textOf(at));
      else expected.set(textOf(at), MARK);
    }
    if (kind === "blob") stored.set(textOf(key), MARK);
    if (checked.has(kind)) stored.set(textOf(key), shown(value));
  }
  const faults: string[] = [];
  for (const [key, value] of expected) {
    if (!stored.has(key)) faults.push(`${key} is missing`);
    else if (stored.get(key) !== value) faults.push(`${key} is ${stored.get(key)}, not ${value}`);
  }
  for (const [key, value] of stored) {
    if (!expected.has(key) && !begun.has(key) && value !== 0) faults.push(`${key} is of nothing`);
  }
  return faults.sort();
}

const MARK = "a mark";
const textOf = (key: Deno.KvKey): string => key.map(String).join(" ");

/** The value of an index entry or a counter. */
function shown(value: unknown): unknown {
  if (value instanceof Uint8Array) return MARK;
  return value instanceof Deno.KvU64 ? Number(value.value) : canonicalJson(value);
}

/** Every index entry that a record must have. */
function entriesOf(of: Collection<Row>, org: string, space: string, record: Row): Entries {
  const { id } = record, own = [org, space], all = ["~system", "live"];
  const under = (at: string[], keys: Collection<Row>["index"], rest: string[], value: unknown) =>
    Object.entries(keys).flatMap(([index, keyOf]): Entries => {
      const key = keyOf(record);
      return key === null ? [] : [[[...at, `${of.name}.${index}`, ...key, ...rest], value]];
    });
  return [
    ...under(own, of.unique, [], canonicalJson(id)),
    ...under(all, of.lookup, [], canonicalJson([org, space, id])),
    ...under(own, of.index, [id], MARK),
    ...under(all, of.queue, [org, space, id], MARK),
  ];
}

/** The keys of the chunks that a value refers to, however deep. */
function chunksIn(org: string, space: string, value: unknown): Deno.KvKey[] {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return [];
  const { id, bytes, chunks } = value as Record<string, unknown>;
  const own = typeof bytes === "number" && typeof chunks === "number"
    ? Array.from({ length: chunks }, (_, n) => [org, space, "blob", String(id), n])
    : [];
  return [
    ...own,
    ...Object.values(value).flatMap((inner) => chunksIn(org, space, inner)),
  ];
}
