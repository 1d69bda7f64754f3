import { type Config, type ConfigSource, parseConfig } from "../work/config.ts";
import { Fault } from "../fault/fault.ts";
import { sha256Hex } from "../codec/text.ts";

/** The configuration in force, and where it comes from. */
export interface Configuration {
  readonly config: Config;
  /** What was said, before the defaults came in. */
  readonly said: unknown;
  readonly loadedAtMs: number;
}

/** One value at the end of a path, such as `limits.live.requests_per_minute`. */
export type Leaves = ReadonlyMap<string, unknown>;

/** The difference that a reload makes to one value. */
export interface Change {
  readonly path: string;
  readonly change: "added" | "changed" | "removed";
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * Reads the configuration anew.
 * @throws {Fault} VALIDATION_FAILED with the path of each fault
 */
export function readConfiguration(source: ConfigSource, loadedAtMs: number): Configuration {
  let text: string;
  try {
    text = source.read();
  } catch (cause) {
    const message = `RELAY_CONFIG cannot be read: ${(cause as Error).message}`;
    const issues = [{ path: "", message }];
    throw new Fault("VALIDATION_FAILED", message, { issues }, { cause });
  }
  return { config: parseConfig(text), said: JSON.parse(text), loadedAtMs };
}

/** Every value by its path; a list is one value. */
export function leavesOf(value: unknown, path = ""): Leaves {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return new Map([[path, value]]);
  }
  const below = Object.entries(value).flatMap(([name, inner]) => [
    ...leavesOf(inner, path === "" ? name : `${path}.${name}`),
  ]);
  return new Map(below);
}

/** What is different, by path. */
export function changesOf(before: Leaves, after: Leaves): Change[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths.flatMap((path) => {
    const [was, is] = [before.get(path), after.get(path)];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    const change = !before.has(path) ? "added" : after.has(path) ? "changed" : "removed";
    return [{ path, change, before: masked(path, was ?? null), after: masked(path, is ?? null) }];
  });
}

/** What an event can hold of them, with room for the rest of its row. */
const TOLD_BYTES = 10 * 1024;
const TOLD_VALUE_BYTES = 256;

/** Changes as the trail tells them: a long value by its hash, and as many as there is room for. */
export function toldOf(changes: readonly Change[]): Change[] {
  let left = TOLD_BYTES;
  return changes.map((change) => ({
    ...change,
    before: brief(change.before),
    after: brief(change.after),
  })).filter((change) => (left -= bytesOf(JSON.stringify(change)) + 1) >= 0);
}

function brief(value: unknown): unknown {
  const text = JSON.stringify(value);
  return bytesOf(text) <= TOLD_VALUE_BYTES ? value : `sha256:${sha256Hex(text)}`;
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const SECRET = /secret|password|token|credential|private|(^|[._])key$/i;

/** A value as it may be shown: what its name tells to be a secret is not, but yes and no are none. */
export const masked = (path: string, value: unknown): unknown =>
  value !== null && typeof value !== "boolean" && SECRET.test(path) ? "********" : value;
