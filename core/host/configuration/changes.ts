import { hash } from "node:crypto";
import { isObject } from "../../codec/codec.ts";

/** Values by their paths, such as `limits.live.requests_per_minute`. */
export type Leaves = ReadonlyMap<string, unknown>;

/** How a reload changes one value. */
export interface Change {
  readonly path: string;
  readonly change: "added" | "changed" | "removed";
  readonly before: unknown;
  readonly after: unknown;
}

/** Every value by its path. A list counts as one value. */
export function leavesOf(value: unknown, path = ""): Leaves {
  if (!isObject(value)) return new Map([[path, value]]);
  const below = Object.entries(value).flatMap(([name, inner]) => [
    ...leavesOf(inner, path === "" ? name : `${path}.${name}`),
  ]);
  return new Map(below);
}

/** The differences, sorted by path. Values that may be secret are masked. */
export function changesOf(before: Leaves, after: Leaves): Change[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths.flatMap((path) => {
    const [was, is] = [before.get(path), after.get(path)];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    const change = !before.has(path) ? "added" : after.has(path) ? "changed" : "removed";
    return [{ path, change, before: masked(path, was ?? null), after: masked(path, is ?? null) }];
  });
}

/** Bytes that an event row has left for the changes. */
const RECORDED_BYTES = 10 * 1024;
/** Longer values are recorded as a hash. */
const RECORDED_VALUE_BYTES = 256;

/** The changes as the audit trail records them: as many as fit, long values as hashes. */
export function recordedChanges(changes: readonly Change[]): Change[] {
  let left = RECORDED_BYTES;
  return changes.map((change) => ({
    ...change,
    before: shortened(change.before),
    after: shortened(change.after),
  })).filter((change) => (left -= bytesOf(JSON.stringify(change)) + 1) >= 0);
}

function shortened(value: unknown): unknown {
  const text = JSON.stringify(value);
  return bytesOf(text) <= RECORDED_VALUE_BYTES ? value : `sha256:${hash("sha256", text)}`;
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const SECRET = /secret|password|token|credential|private|(^|[._])key$/i;

/** Hides a value whose name says that it is secret. Booleans and null stay visible. */
export const masked = (path: string, value: unknown): unknown =>
  value !== null && typeof value !== "boolean" && SECRET.test(path) ? "********" : value;
