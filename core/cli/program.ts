/** Lines of a program's output that are kept, to wait for or to explain a failure. */
const LINES_KEPT = 200;
/** Longer lines are truncated, so that output without line ends cannot fill the memory. */
const LINE_LENGTH_MAX = 4_000;
/** The time that a program gets to end after SIGTERM. */
const STOP_MS = 6_000;

/**
 * How a relay is run from source; an executable has it built in. Young garbage gets room, so that less of it is
 * copied: 4 MiB from the start, and at most 16.
 */
export const V8_FLAGS = "--v8-flags=--min-semi-space-size=4,--max-semi-space-size=16";

/** A child process that runs this program with another command. */
export interface Program {
  readonly pid: number;
  readonly ended: Promise<Deno.CommandStatus>;
  /** The last lines of its standard output and error together. */
  readonly lines: readonly string[];
  /**
   * The next line of output that matches. Each line is returned once.
   * @throws {Error} when the program ends first, or after `ms`
   */
  line(pattern: RegExp, ms: number): Promise<RegExpExecArray>;
  /** Kills it, like a crash. */
  kill(): Promise<void>;
  /** Asks it to end, and kills it when it does not. */
  stop(): Promise<Deno.CommandStatus>;
}

/** How a program is started. */
export interface ProgramOptions {
  /** Added to this process's environment without its RELAY_ variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** The program's main module when it runs from source; default: that of this process. */
  readonly main?: string;
  /** Its permission flags, and others of Deno, when it runs from source; default: all permissions. */
  readonly permissions?: readonly string[];
}

/** Starts this program again: the executable, or the main module under the same Deno. */
export function startProgram(args: readonly string[], options: ProgramOptions = {}): Program {
  const { env = {} } = options;
  const child = new Deno.Command(Deno.execPath(), {
    args: programArguments(args, options),
    clearEnv: true,
    env: { ...inheritedEnvironment(), ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();

  const lines: string[] = [];
  let fresh: string[] = [];
  let over = false;
  let arrived = Promise.withResolvers<void>();
  const announce = () => {
    arrived.resolve();
    arrived = Promise.withResolvers<void>();
  };
  const take = (line: string) => {
    for (const kept of [lines, fresh]) {
      kept.push(line);
      if (kept.length > LINES_KEPT) kept.shift();
    }
    announce();
  };
  const read = Promise.all([child.stdout, child.stderr].map((pipe) => readLines(pipe, take)));
  const ended = child.status.then(async (status) => {
    await read;
    over = true;
    announce();
    return status;
  });

  const signal = (name: Deno.Signal) => {
    try {
      child.kill(name);
    } catch (error) {
      // It has already ended.
      if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
    }
  };

  return {
    pid: child.pid,
    ended,
    lines,
    async line(pattern, ms) {
      const deadline = after(ms);
      try {
        while (true) {
          const changed = arrived.promise;
          for (const [at, line] of fresh.entries()) {
            const found = pattern.exec(line);
            if (found === null) continue;
            fresh = fresh.slice(at + 1);
            return found;
          }
          const missing = `relay ${args[0]} did not print ${pattern}`;
          if (over) throw new Error(`${missing}; it ended:\n${lines.join("\n")}`);
          if (await Promise.race([changed, deadline.late]) === LATE) {
            throw new Error(`${missing} within ${ms / 1000} s:\n${lines.join("\n")}`);
          }
        }
      } finally {
        deadline.cancel();
      }
    },
    async kill() {
      signal("SIGKILL");
      await ended;
    },
    async stop() {
      signal("SIGTERM");
      const deadline = after(STOP_MS);
      if (await Promise.race([ended, deadline.late]) === LATE) signal("SIGKILL");
      deadline.cancel();
      return await ended;
    },
  };
}

/** The result of a deadline that has passed. */
export const LATE = Symbol("late");

/** A deadline to race against. */
export function after(ms: number): { late: Promise<typeof LATE>; cancel(): void } {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>();
  const timer = setTimeout(() => resolve(LATE), ms);
  return { late, cancel: () => clearTimeout(timer) };
}

/** The arguments with which the executable, or Deno, runs this program again. */
export function programArguments(
  args: readonly string[],
  { main = Deno.mainModule, permissions = ["-A"] }: Omit<ProgramOptions, "env">,
): string[] {
  if (Deno.build.standalone) return [...args];
  const unstable = ["--unstable-kv", "--unstable-cron", "--unstable-net"];
  return ["run", ...permissions, ...unstable, main, ...args];
}

function inheritedEnvironment(): Record<string, string> {
  const all = Object.entries(Deno.env.toObject());
  return Object.fromEntries(all.filter(([name]) => !name.startsWith("RELAY_")));
}

async function readLines(
  pipe: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const text of pipe.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split(/\r?\n/);
    rest = parts.pop()!.slice(0, LINE_LENGTH_MAX);
    for (const line of parts) take(line.slice(0, LINE_LENGTH_MAX));
  }
  if (rest !== "") take(rest);
}
