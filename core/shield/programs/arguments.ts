import { type SimpleCommand, UNKNOWN } from "../model.ts";
import { rehearses } from "./rehearsals.ts";

/** Whether a short letter (also inside a cluster such as `-rf`) or a long name is among the options. */
export function hasFlag(
  command: SimpleCommand,
  short: string,
  ...long: readonly string[]
): boolean {
  for (const arg of command.args) {
    if (arg.charCodeAt(0) !== DASH || arg.length === 1) continue;
    if (arg.charCodeAt(1) !== DASH) {
      if (sharesLetter(arg, short) || (long.length > 0 && long.includes(arg.slice(1)))) return true;
    } else if (arg.length === 2) return false;
    else if (long.length > 0 && startsAny(arg, long)) return true;
  }
  return false;
}

/** Whether one of the letters stands behind the dash. */
function sharesLetter(arg: string, letters: string): boolean {
  for (const letter of arg.slice(1)) if (letters.includes(letter)) return true;
  return false;
}

/** GNU programs take any unambiguous start of a long option: `--recurs` is `--recursive`. */
function startsAny(arg: string, long: readonly string[]): boolean {
  const equals = arg.indexOf("=");
  const name = arg.slice(2, equals < 0 ? arg.length : equals);
  for (const one of long) {
    if (one === name || (name.length >= MIN_START && one.startsWith(name))) return true;
  }
  return false;
}

/** Shorter starts are ambiguous for most programs, which then refuse them. */
const MIN_START = 3;

/** Whether one of these stands among the arguments exactly, or followed by `=`. */
export function hasOption(command: SimpleCommand, ...options: readonly string[]): boolean {
  for (const arg of command.args) {
    for (const option of options) if (arg === option || isAssigned(arg, option)) return true;
  }
  return false;
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
  const { args } = command;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (!arg.startsWith("-")) continue;
    const cluster = valuedPart(command.valuedLetters, arg);
    if (cluster !== null) {
      const value = cluster.length > 1 ? cluster.slice(1) : args[i + 1];
      if (value !== undefined && options.includes(`-${cluster[0]}`)) values.push(value);
      continue;
    }
    const isLong = arg.startsWith("--");
    for (const option of options) {
      if (arg === option) {
        const next = args[i + 1];
        if (next !== undefined) values.push(next);
      } else if (isAssigned(arg, option)) values.push(arg.slice(option.length + 1));
      else if (isLong) {
        const equals = arg.indexOf("=");
        if (!startsOption(arg, equals < 0 ? arg.length : equals, option, options)) continue;
        const value = equals < 0 ? args[i + 1] : arg.slice(equals + 1);
        if (value !== undefined) values.push(value);
      } else if (option.length === 2 && arg.startsWith(option)) {
        values.push(arg.slice(2));
      }
    }
  }
  return values;
}

/** The part of a bundle of options from the first one that takes a value; null where none does. */
function valuedPart(letters: string | null, arg: string): string | null {
  if (letters === null || arg.startsWith("--")) return null;
  for (let at = 1; at < arg.length; at++) if (letters.includes(arg[at]!)) return arg.slice(at);
  return null;
}

/** The value after a cluster that ends in this letter: `script -qefc text`. */
export function clusterValues({ args }: SimpleCommand, letter: string): string[] {
  return args.flatMap((arg, i) =>
    arg.length > 2 && arg.startsWith("-") && !arg.startsWith("--") && arg.endsWith(letter)
      ? args.slice(i + 1, i + 2)
      : []
  );
}

/** Whether an argument abbreviates an option and is not another option. */
function startsOption(
  arg: string,
  length: number,
  option: string,
  options: readonly string[],
): boolean {
  if (length < MIN_START + 2 || length >= option.length) return false;
  const name = arg.slice(0, length);
  return option.startsWith(name) && !options.includes(name);
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
  const { args } = command;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg.charCodeAt(0) !== DASH || arg.length === 1) found.push(arg);
    else if (arg === "--") return [...found, ...args.slice(i + 1)];
    else if (valued !== NO_OPTIONS && valued.has(arg)) i++;
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

/** Whether a command only asks for help, a version or a rehearsal; after `--` such a word is a file's name. */
export function isRehearsal(command: SimpleCommand): boolean {
  return command.memo.rehearsal ??= rehearses(command);
}

/** Whether a part of the word is unknown before it runs. */
export function isUnknown(word: string): boolean {
  return word.includes(UNKNOWN);
}
