import type { ShieldSessionRecord } from "../../../kv/records/shield.ts";
import {
  type Examination,
  type Flow,
  type Memory,
  mergeFlows,
  NOTHING,
} from "../../shield/shield.ts";

/** How long a command is remembered for chains that later commands may complete. */
export const WINDOW_MS = 30 * 60 * 1000;
const FILES_MAX = 64;
/** The most characters of names, and of names and text, kept for one session. Older files lose their text first. */
const CHARS_MAX = 16 * 1024;
/** Operating systems accept at most 4 KiB. */
const PATH_CHARS_MAX = 4 * 1024;
/** Earlier commands that one explanation names. */
const STEPS_MAX = 8;

/** What a file holds after a command, and the commands that led to it, the oldest first. */
interface Content {
  readonly flow: Flow;
  readonly steps: readonly string[];
}

/** A file as an earlier command left it. */
interface WrittenFile extends Content {
  readonly atMs: number;
  /** The content once the last command that wrote it succeeds. Until then both contents count. */
  readonly onSuccess?: { readonly step: string; readonly content: Content };
}

/** What the commands of one session wrote to files, and whether they disabled a protection. */
export class SessionMemory {
  readonly #files: Map<string, WrittenFile>;
  /** The last command that disabled a protection. */
  #defensesDown: { readonly step: string; readonly atMs: number } | null;

  constructor(record: ShieldSessionRecord | null = null) {
    this.#files = new Map(record?.files as [string, WrittenFile][] ?? []);
    this.#defensesDown = record?.defenses_down ?? null;
  }

  /** The record of this memory in the store. */
  toRecord(id: string, nowMs: number): ShieldSessionRecord {
    return {
      id,
      files: [...this.#files],
      defenses_down: this.#defensesDown,
      expires_at_ms: nowMs + WINDOW_MS,
    };
  }

  /** What the judgement of the next command needs; null when nothing is remembered. */
  recall(nowMs: number): Memory | null {
    this.#forget(nowMs - WINDOW_MS);
    if (this.#files.size === 0 && this.#defensesDown === null) return null;
    const files = this.#files;
    const found = (paths: Iterable<string>) => [...paths].flatMap((path) => files.get(path) ?? []);
    return {
      files: new Map([...files].map(([path, { flow }]) => [path, asEarlier(flow)])),
      defensesDown: this.#defensesDown?.step ?? null,
      downloaded: (paths) => found(paths).some(({ flow }) => flow.network),
      stepsOf: (paths) =>
        [...new Set(found(paths).flatMap(({ steps }) => steps))].slice(-STEPS_MAX),
    };
  }

  /** Remembers a command that was not refused and leaves something behind; `steps` are the commands that it builds on. */
  note(step: string, examination: Examination, steps: readonly string[], atMs: number): void {
    const written = filesOf(examination), takesDown = takesProtectionDown(examination);
    const { recalled } = examination;
    this.#forget(atMs - WINDOW_MS);
    if (takesDown) this.#defensesDown = { step, atMs };
    const downloaded = [...recalled].some((path) => this.#files.get(path)?.flow.network);
    for (const [path, flow] of written) {
      const before = this.#files.get(path);
      const network = flow.network || (downloaded && flow.text === null);
      const content = { flow: { ...flow, network }, steps: [...steps, step].slice(-STEPS_MAX) };
      this.#files.delete(path);
      this.#files.set(
        path,
        before === undefined
          ? { ...content, atMs }
          : { ...either(before, content), atMs, onSuccess: { step, content } },
      );
    }
    shrink(this.#files);
  }

  /** Forgets what is older than an instant. */
  #forget(since: number): void {
    for (const [path, { atMs }] of this.#files) if (atMs < since) this.#files.delete(path);
    if (this.#defensesDown !== null && this.#defensesDown.atMs < since) this.#defensesDown = null;
  }

  /** A noted command has succeeded, so the files that it wrote no longer have their earlier content. */
  succeeded(step: string): void {
    for (const [path, { atMs, onSuccess }] of this.#files) {
      if (onSuccess?.step === step) this.#files.set(path, { ...onSuccess.content, atMs });
    }
  }
}

/** Whether a command leaves something behind that a later command of its session may build on. */
export const leavesBehind = (examination: Examination): boolean =>
  takesProtectionDown(examination) || filesOf(examination).length > 0;

const takesProtectionDown = ({ findings }: Examination): boolean =>
  findings.some(({ rule }) => rule.threat === "defense_evasion" && rule.pack !== "behaviour");

const filesOf = ({ files }: Examination) =>
  [...files].filter(([path]) => !path.startsWith("/dev/") && path.length <= PATH_CHARS_MAX);

/** A file as either of two commands left it: the findings of both count. */
function either(before: Content, after: Content): Content {
  const [a, b] = [before.flow, after.flow];
  const texts = new Set([a.text, b.text].filter((text) => text !== null));
  const text = texts.size === 0 ? null : [...texts].join("\n");
  return {
    flow: { ...mergeFlows([a, b]), text },
    steps: [...new Set([...before.steps, ...after.steps])].slice(-STEPS_MAX),
  };
}
/** A file of an earlier command; running it is judged as a chain, not like code from a pipe. */
function asEarlier({ text, secret, bulk, network }: Flow): Flow {
  return { ...NOTHING, text: network ? null : text, secret, bulk };
}

/** Drops the oldest files and excess text; files that cannot begin a chain go first. */
function shrink(files: Map<string, WrittenFile>): void {
  const newest = [...files.keys()].at(-1);
  let named = [...files.keys()].reduce((sum, path) => sum + path.length, 0);
  for (const isOrigin of [false, true]) {
    for (const [path, { flow }] of files) {
      if (files.size <= FILES_MAX && named <= CHARS_MAX) break;
      if (path !== newest && (flow.secret || flow.network || flow.bulk) === isOrigin) {
        files.delete(path);
        named -= path.length;
      }
    }
  }
  let chars = 0;
  for (const [path, kept] of [...files].reverse()) {
    chars += path.length + (kept.flow.text?.length ?? 0) +
      (kept.onSuccess?.content.flow.text?.length ?? 0);
    if (chars > CHARS_MAX) files.set(path, withoutText(kept));
  }
}

function withoutText({ onSuccess, ...kept }: WrittenFile): WrittenFile {
  const bare = ({ flow, steps }: Content): Content => ({ flow: { ...flow, text: null }, steps });
  return {
    ...kept,
    ...bare(kept),
    ...(onSuccess && { onSuccess: { ...onSuccess, content: bare(onSuccess.content) } }),
  };
}
