import { canonicalJson, isObject } from "../../codec/codec.ts";

/** One changed part of a document. */
export interface DocumentChange {
  /** Field names, joined by dots; rules appear by their ids. */
  readonly path: string;
  readonly kind: "added" | "removed" | "changed" | "moved";
  readonly before?: unknown;
  readonly after?: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** The differences between two documents; rules are matched by their ids, in any order. */
export function diffDocuments(before: unknown, after: unknown): DocumentChange[] {
  const changes: DocumentChange[] = [];
  compare("", before, after, changes);
  return changes;
}

function compare(path: string, before: unknown, after: unknown, into: DocumentChange[]): void {
  if (before === undefined && after === undefined) return;
  if (before === undefined) return void into.push({ path, kind: "added", after });
  if (after === undefined) return void into.push({ path, kind: "removed", before });
  if (canonicalJson(before) === canonicalJson(after)) return;
  const lists = [named(before), named(after)];
  if (lists[0] && lists[1]) return compareNamed(path, lists[0], lists[1], into);
  if (!isObject(before) || !isObject(after)) {
    return void into.push({ path, kind: "changed", before, after });
  }
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const key of [...keys].sort()) {
    compare(path === "" ? key : `${path}.${key}`, own(before, key), own(after, key), into);
  }
}

function compareNamed(
  path: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
  into: DocumentChange[],
): void {
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    compare(`${path}.${id}`, before.get(id), after.get(id), into);
  }
  const kept = (one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>) =>
    [...one.keys()].filter((id) => other.has(id));
  const [first, second] = [kept(before, after), kept(after, before)];
  // The first rule that matches decides, so another order is a change.
  if (first.join("\n") !== second.join("\n")) {
    into.push({ path, kind: "moved", before: first, after: second });
  }
}

/** Reads own fields only: a label may be called `constructor`, which every object inherits. */
const own = (fields: Fields, key: string): unknown =>
  Object.hasOwn(fields, key) ? fields[key] : undefined;

/** A list of things with ids, by id; null for any other value. */
function named(value: unknown): Map<string, unknown> | null {
  if (!Array.isArray(value)) return null;
  const entries = value.map((
    each,
  ): [unknown, unknown] => [isObject(each) ? each["id"] : null, each]);
  if (!entries.every((entry): entry is [string, unknown] => typeof entry[0] === "string")) {
    return null;
  }
  return new Map(entries);
}
