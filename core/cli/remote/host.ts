import { onStopSignal, readInputLine } from "../process.ts";

/** The terminal, network and time that the commands use. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: typeof fetch;
  /** Writes a text to the standard output as it is. */
  write(text: string): Promise<void>;
  /** Writes a text to the standard error as it is. */
  writeError(text: string): Promise<void>;
  /** True when a person reads the output and may be asked. */
  readonly interactive: boolean;
  /** Asks a question; null without an answer. */
  ask(question: string): string | null;
  /** The first line of the standard input. */
  readLine(): string;
  /** The whole standard input. */
  input(): ReadableStream<Uint8Array>;
  now(): number;
  /** A number from 0 to below 1. */
  random(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back after a time; returns how to stop that. */
  after(ms: number, task: () => void): () => void;
  /** Calls back on the first Ctrl-C, the next one ends the program; returns how to stop that. */
  onInterrupt(interrupted: () => void): () => void;
  /** What this terminal calls itself at a sign-in. */
  deviceName(): string;
  /** Shows an address in the browser of whoever sits here; false when there is none. */
  browse(address: string): boolean;
}

/** This machine. */
export const machine: Host = {
  env: Deno.env.toObject(),
  fetch,
  write: (text) => writeAll(Deno.stdout, text),
  writeError: (text) => writeAll(Deno.stderr, text),
  interactive: Deno.stdin.isTerminal() && Deno.stdout.isTerminal(),
  ask: (question) => prompt(question),
  readLine: readInputLine,
  input: () => Deno.stdin.readable,
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const end = () => {
        signal?.removeEventListener("abort", end);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener("abort", end);
      if (signal?.aborted) end();
    }),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
  onInterrupt(interrupted) {
    const forget = onStopSignal(() => {
      forget();
      interrupted();
    });
    return forget;
  },
  deviceName: () =>
    `${Deno.env.get("USER") ?? Deno.env.get("USERNAME") ?? "user"}@${Deno.hostname()}`,
  browse,
};

/** Programs that show an address in the user's browser. None of them is a shell. */
const BROWSERS: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  darwin: ["open"],
  windows: ["rundll32", "url.dll,FileProtocolHandler"],
};

function browse(address: string): boolean {
  const { os } = Deno.build;
  const hasScreen = os === "darwin" || os === "windows" ||
    ["DISPLAY", "WAYLAND_DISPLAY"].some((name) => Deno.env.get(name));
  if (!hasScreen) return false;
  const [program, ...args] = BROWSERS[os] ?? ["xdg-open"];
  try {
    const silent = { stdin: "null", stdout: "null", stderr: "null" } as const;
    new Deno.Command(program, { args: [...args, address], ...silent }).spawn().unref();
    return true;
  } catch {
    return false;
  }
}

async function writeAll(to: typeof Deno.stdout | typeof Deno.stderr, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}
