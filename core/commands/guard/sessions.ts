import { RecentMap } from "../../../kv/store/recent.ts";
import {
  type Examination,
  type Flow,
  type Memory,
  mergeFlows,
  NOTHING,
} from "../../shield/shield.ts";

/** How long a command is remembered for chains that later commands may complete. */
export const WINDOW_MS = 30 * 60 * 1000;
/** Remembered sessions; the least recently used are forgotten. */
const SESSIONS_MAX = 2_048;
const FILES_MAX = 64;
/** Characters of names and text of written files kept for one session; of further files only the origin is kept. */
const CHARS_MAX = 16 * 1024;
/** Operating systems accept at most 4 KiB. */
const PATH_CHARS_MAX = 4 * 1024;
/** Earlier commands that one explanation names. */
const STEPS_MAX = 8;

/** A file as an earlier command left it. */
interface WrittenFile {
  readonly flow: Flow;
  /** The commands that led to it, the oldest first. */
  readonly steps: readonly string[];
  readonly atMs: number;
}

interface Session {
  readonly files: Map<string, WrittenFile>;
  /** The last command that took a protection down. */
  defensesDown: { readonly step: string; readonly atMs: number } | null;
}

/**
 * Remembers what each session's commands wrote to files. It is a hint of this process only: another instance
 * judges a command without the chain, by the other layers.
 */
export class Sessions {
  readonly #sessions = new RecentMap<Session>(SESSIONS_MAX);

  constructor(private readonly now: () => number) {}

  /** The memory of a session; null when nothing is remembered. */
  recall(key: string): Memory | null {
    const session = this.#sessions.get(key);
    if (session === undefined) return null;
    const since = this.now() - WINDOW_MS;
    for (const [path, { atMs }] of session.files) if (atMs < since) session.files.delete(path);
    if (session.defensesDown !== null && session.defensesDown.atMs < since) {
      session.defensesDown = null;
    }
    if (session.files.size === 0 && session.defensesDown === null) return null;
    const { files, defensesDown } = session;
    const found = (paths: Iterable<string>) => [...paths].flatMap((path) => files.get(path) ?? []);
    return {
      files: new Map([...files].map(([path, { flow }]) => [path, asEarlier(flow)])),
      defensesDown: defensesDown?.step ?? null,
      downloaded: (paths) => found(paths).some(({ flow }) => flow.network),
      stepsOf: (paths) =>
        [...new Set(found(paths).flatMap(({ steps }) => steps))].slice(-STEPS_MAX),
    };
  }

  /**
   * Remembers a command that was not refused; `steps` are the commands that it builds on. Until the returned
   * function is called on its success, its files may still have their earlier content. Null for a command that
   * leaves nothing behind.
   */
  note(
    key: string,
    step: string,
    { files, findings, recalled }: Examination,
    steps: readonly string[],
  ): (() => void) | null {
    const takesDown = findings.some(({ rule }) =>
      rule.threat === "defense_evasion" && rule.pack !== "behaviour"
    );
    const written = [...files].filter(([path]) =>
      !path.startsWith("/dev/") && path.length <= PATH_CHARS_MAX
    );
    if (written.length === 0 && !takesDown) return null;
    const session: Session = this.#sessions.get(key) ?? { files: new Map(), defensesDown: null };
    const atMs = this.now();
    if (takesDown) session.defensesDown = { step, atMs };
    const downloaded = [...recalled].some((path) => session.files.get(path)?.flow.network);
    const news: (readonly [path: string, maybe: WrittenFile, surely: WrittenFile])[] = [];
    for (const [path, flow] of written) {
      const before = session.files.get(path);
      const network = flow.network || (downloaded && flow.text === null);
      const surely = {
        flow: { ...flow, network },
        steps: [...steps, step].slice(-STEPS_MAX),
        atMs,
      };
      const maybe = before === undefined ? surely : either(before, surely);
      session.files.delete(path);
      session.files.set(path, maybe);
      news.push([path, maybe, surely]);
    }
    shrink(session.files);
    this.#sessions.set(key, session);
    return () => {
      for (const [path, maybe, surely] of news) {
        if (session.files.get(path) === maybe) session.files.set(path, surely);
      }
    };
  }
}

/** A file as either of two commands left it: the findings of both count. */
function either(before: WrittenFile, after: WrittenFile): WrittenFile {
  const [a, b] = [before.flow, after.flow];
  const texts = new Set([a.text, b.text].filter((text) => text !== null));
  const text = texts.size === 0 ? null : [...texts].join("\n");
  return {
    flow: { ...mergeFlows([a, b]), text },
    steps: [...new Set([...before.steps, ...after.steps])].slice(-STEPS_MAX),
    atMs: after.atMs,
  };
}

/** A file of an earlier command; running it is judged as a chain, not like code from a pipe. */
function asEarlier({ text, secret, bulk, network }: Flow): Flow {
  return { ...NOTHING, text: network ? null : text, secret, bulk };
}

/** Drops the oldest files and excess text; files that cannot begin a chain go first. */
function shrink(files: Map<string, WrittenFile>): void {
  const newest = [...files.keys()].at(-1);
  for (const isOrigin of [false, true]) {
    for (const [path, { flow }] of files) {
      if (files.size <= FILES_MAX) break;
      if (path !== newest && (flow.secret || flow.network || flow.bulk) === isOrigin) {
        files.delete(path);
      }
    }
  }
  let chars = 0;
  for (const [path, kept] of [...files].reverse()) {
    chars += path.length + (kept.flow.text?.length ?? 0);
    if (chars > CHARS_MAX && kept.flow.text !== null) {
      files.set(path, { ...kept, flow: { ...kept.flow, text: null } });
    }
  }
}
