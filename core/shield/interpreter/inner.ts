import { type Flow, FROM_NETWORK, NOTHING, type SimpleCommand, textFlow } from "../model.ts";

/** Code that a command runs: another program, shell text, or code of another language. */
export type Inner =
  | {
    readonly kind: "argv";
    readonly argv: readonly string[];
    readonly assignments?: readonly [string, string][];
  }
  | {
    readonly kind: "shell";
    readonly flow: Flow;
    readonly positional?: readonly string[];
    /** What `$0` is in it. */
    readonly zero?: string;
  }
  | { readonly kind: "code"; readonly flow: Flow; readonly language: string };

/** Finds everything that a command runs besides itself; null for a program that never runs anything. */
export type Unwrapper = (command: SimpleCommand, readFile: ReadFile) => readonly Inner[] | null;

/** Reads a file that the line itself wrote; null for any other. */
export type ReadFile = (path: string) => Flow | null;

/** Paths that stand for standard input. */
export const STDIN_PATHS: ReadonlySet<string> = new Set([
  "-",
  "/dev/stdin",
  "/dev/fd/0",
  "/proc/self/fd/0",
]);

/** The arguments behind a `--` that ends the options of a builtin. */
export function withoutDashes(args: readonly string[]): readonly string[] {
  return args[0] === "--" ? args.slice(1) : args;
}

/** Shell text as inner code. */
export function shellText(text: string): Inner {
  return { kind: "shell", flow: textFlow(text) };
}

/** What a command reads, as shell text. */
export function shellInput({ stdin }: SimpleCommand): Inner[] {
  return stdin === null ? [] : [{ kind: "shell", flow: stdin }];
}

/** Shell text of which nothing is known. */
export const UNSEEN: Inner = { kind: "shell", flow: NOTHING };

/** Whether text that is about to be run came over the network. */
export function isDownloaded(flow: Flow): boolean {
  return flow.network || (flow.text?.includes(FROM_NETWORK) ?? false);
}

/** One word that a shell reads back as this text. */
export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
