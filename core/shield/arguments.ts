import { type SimpleCommand, UNKNOWN } from "./command.ts";

/** Whether a short letter (also inside a cluster such as `-rf`) or a long name is among the options. */
export function hasFlag(
  command: SimpleCommand,
  short: string,
  ...long: readonly string[]
): boolean {
  for (const arg of command.args) {
    if (arg === "--") return false;
    if (!arg.startsWith("-") || arg === "-") continue;
    if (arg.startsWith("--")) {
      const name = arg.slice(2).split("=", 1)[0] ?? "";
      // GNU programs take any unambiguous start of a long option: `--recurs` is `--recursive`.
      if (long.some((one) => one === name || (name.length >= MIN_START && one.startsWith(name)))) {
        return true;
      }
      continue;
    }
    const letters = arg.slice(1);
    for (const letter of short) if (letters.includes(letter)) return true;
    if (long.includes(letters)) return true;
  }
  return false;
}

/** Shorter starts are ambiguous for most programs, which then refuse them. */
const MIN_START = 3;

/** Whether one of these stands among the arguments exactly, or followed by `=`. */
export function hasOption(command: SimpleCommand, ...options: readonly string[]): boolean {
  return command.args.some((arg) =>
    options.some((option) => arg === option || isAssigned(arg, option))
  );
}

const DASH = 0x2d;
const EQUALS = 0x3d;

/** Whether an argument is `option=value`. */
function isAssigned(arg: string, option: string): boolean {
  return arg.charCodeAt(option.length) === EQUALS && arg.startsWith(option);
}

/** The value after `-x value`, `-xvalue`, `--name value` or `--name=value`, of every occurrence. */
export function optionValues(command: SimpleCommand, ...options: readonly string[]): string[] {
  const values: string[] = [];
  for (const [i, arg] of command.args.entries()) {
    if (arg.charCodeAt(0) !== DASH) continue;
    for (const option of options) {
      if (arg === option) {
        const next = command.args[i + 1];
        if (next !== undefined) values.push(next);
      } else if (isAssigned(arg, option)) values.push(arg.slice(option.length + 1));
      else if (option.length === 2 && option !== "--" && arg.startsWith(option)) {
        values.push(arg.slice(2));
      }
    }
  }
  return values;
}

/** The arguments that are no options, as most rules want them; computed once for each command. */
export function wordsOf(command: SimpleCommand): readonly string[] {
  return command.memo.words ??= findOperands(command, NO_OPTIONS);
}

/** The arguments that are no options; `valued` names options whose next argument is their value. */
export function operands(
  command: SimpleCommand,
  valued: ReadonlySet<string> = NO_OPTIONS,
): readonly string[] {
  return valued === NO_OPTIONS ? wordsOf(command) : findOperands(command, valued);
}

function findOperands(command: SimpleCommand, valued: ReadonlySet<string>): string[] {
  const found: string[] = [];
  for (let i = 0; i < command.args.length; i++) {
    const arg = command.args[i] ?? "";
    if (arg === "--") return [...found, ...command.args.slice(i + 1)];
    if (arg.startsWith("-") && arg !== "-") {
      if (valued.has(arg)) i++;
    } else found.push(arg);
  }
  return found;
}

const NO_OPTIONS: ReadonlySet<string> = new Set();

/** The words that name a subcommand, such as `kv metadata delete`, in lower case. */
export function subcommand(
  command: SimpleCommand,
  valued: ReadonlySet<string> = NO_OPTIONS,
): string[] {
  return operands(command, valued).map((word) => word.toLowerCase());
}

/** Asking for help, a version or a rehearsal harms nothing; after `--` such a word is a file's name. */
export function isRehearsal(command: SimpleCommand): boolean {
  return command.memo.rehearsal ??= rehearses(command);
}

function rehearses(command: SimpleCommand): boolean {
  for (const arg of command.args) {
    if (!arg.startsWith("--")) continue;
    if (arg === "--") return false;
    if (REHEARSALS.has(arg) || isRehearsalValue(arg)) return true;
  }
  return false;
}

const REHEARSALS = new Set([
  "--help",
  "--version",
  "--dry-run",
  "--dryrun",
  "--list-only",
  "--what-if",
  "--whatif",
  "--simulate",
  "--just-print",
]);

function isRehearsalValue(arg: string): boolean {
  if (!arg.startsWith("--dry-run=") && !arg.startsWith("--dryrun=")) return false;
  const value = arg.slice(arg.indexOf("=") + 1);
  return value !== "false" && value !== "none";
}

/** Whether a part of the word is unknown before it runs. */
export function isUnknown(word: string): boolean {
  return word.includes(UNKNOWN);
}
