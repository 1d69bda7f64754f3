import { once, type SimpleCommand } from "../model.ts";

/** Whether a word of a phrase matches at this place. */
type Word = (said: readonly string[], at: number) => boolean;
type Test = (text: string) => boolean;

/** Phrases that were read, ready for matching. */
export interface Phrases {
  /** The programs that the phrases begin with. */
  readonly names: readonly string[];
  /** Whether the command matches a phrase. */
  matches(command: SimpleCommand): boolean;
}

/**
 * Reads lines such as `aws ec2|rds delete-… --force`: the program, then words that stand among its arguments in this
 * order, with any others between them. `a|b` is either of both, `…` is any text. Case does not matter, and
 * `--a=b` equals `--a b`. `-a|--all=x|y` is one of the options, directly followed by one of the values.
 */
export function readPhrases(
  lines: readonly string[],
  ask: (command: SimpleCommand) => readonly string[] = wordsSaid,
): Phrases {
  let byName: ReadonlyMap<string, readonly Word[][]> | null = null;
  return {
    names: [...new Set(lines.flatMap(namesOf))],
    matches(command) {
      byName ??= readLines(lines);
      const said = once(command, ask);
      return byName.get(command.name)?.some((phrase) => says(said, phrase)) ?? false;
    },
  };
}

const namesOf = (line: string): string[] => line.split(" ", 1)[0]!.split("|");

function readLines(lines: readonly string[]): ReadonlyMap<string, readonly Word[][]> {
  const byName = new Map<string, Word[][]>();
  for (const line of lines) {
    const phrase = line.split(" ").slice(1).map(readWord);
    for (const name of namesOf(line)) byName.getOrInsertComputed(name, () => []).push(phrase);
  }
  return byName;
}

function readWord(pattern: string): Word {
  const equals = pattern.startsWith("-") ? pattern.indexOf("=") : -1;
  const first = readChoice(equals < 0 ? pattern : pattern.slice(0, equals));
  if (equals < 0) return (said, at) => first(said[at]!);
  const second = readChoice(pattern.slice(equals + 1));
  return (said, at) => first(said[at]!) && at + 1 < said.length && second(said[at + 1]!);
}

function readChoice(pattern: string): Test {
  const tests = pattern.split("|").map(testOf);
  return (text) => tests.some((test) => test(text));
}

function testOf(pattern: string): Test {
  const from = pattern.startsWith("…");
  const on = pattern.endsWith("…");
  const text = pattern.slice(from ? 1 : 0, on ? -1 : undefined);
  if (from && on) return (arg) => arg.includes(text);
  if (from) return (arg) => arg.endsWith(text);
  return on ? (arg) => arg.startsWith(text) : (arg) => arg === text;
}

/** The arguments in lower case, with the name and the value of a long option apart. */
export function wordsSaid({ args }: SimpleCommand): string[] {
  return args.flatMap((arg) => {
    const equals = arg.startsWith("--") ? arg.indexOf("=") : -1;
    const lower = arg.toLowerCase();
    return equals < 0 ? [lower] : [lower.slice(0, equals), lower.slice(equals + 1)];
  });
}

/** The arguments, and then the words on standard input, of programs that take their commands there. */
export function wordsTold(command: SimpleCommand): readonly string[] {
  const told = command.stdin?.text?.toLowerCase().split(/[\s;]+/) ?? [];
  return [...once(command, wordsSaid), ...told];
}

/** Takes each word at its first place, so the time is linear. */
function says(said: readonly string[], phrase: readonly Word[]): boolean {
  let at = 0;
  for (const word of phrase) {
    while (at < said.length && !word(said, at)) at++;
    if (at++ === said.length) return false;
  }
  return true;
}
