import { operands } from "./arguments.ts";
import { once, type SimpleCommand, UNKNOWN } from "./command.ts";
import { matchesGlob, matchesPathGlob } from "./glob.ts";
import { hasGlob, locate, normalizePath } from "./paths.ts";
import type { PolicyRule } from "./policy.ts";
import type { Rule } from "./rule.ts";

/** A command that the walk found, with the rules that matched it. */
export interface Examined {
  readonly command: SimpleCommand;
  readonly rules: readonly Rule[];
}

/** Characters of words, times the patterns that they are held against: some 20 ms. */
const WORK_MAX = 2_000_000;
/** What a word costs besides its characters. */
const WORD_COST = 8;

/** Whether holding these commands against a policy's rules takes longer than one inspection may. */
export function exceedsWork(rules: readonly PolicyRule[], commands: readonly Examined[]): boolean {
  let patterns = 0;
  for (const { match } of rules) {
    for (const list of [match.commands, match.arguments, match.paths]) {
      patterns += list?.length ?? 0;
    }
  }
  let chars = 0;
  for (const { command } of commands) {
    for (const arg of command.args) chars += arg.length + WORD_COST;
    for (const { target } of command.redirections) chars += target.length + WORD_COST;
  }
  return patterns * chars > WORK_MAX;
}

/** Whether a policy's rule speaks of this command; who asks, where and when is asked elsewhere. */
export function matchesCommand({ match, verdict }: PolicyRule, { command, rules }: Examined) {
  const { commands, other_commands, paths } = match;
  if (!namesRules(match, rules)) return false;
  if (commands !== undefined) {
    if (!isNamed(command.name, commands)) return false;
  }
  if (other_commands !== undefined && isNamed(command.name, other_commands)) return false;
  if (!matchesArguments(match, command)) return false;
  if (paths === undefined) return true;
  return verdict === "allow"
    ? liesWithin(paths, match.arguments ?? [], command)
    : once(command, pathWords).some((path) => paths.some((glob) => mayMatch(glob, path)));
}

const isNamed = (name: string, patterns: readonly string[]): boolean =>
  !name.includes(UNKNOWN) && patterns.some((each) => matchesGlob(each.toLowerCase(), name));

/** Whether it speaks of findings that belong to no command: unreadable text, hidden code. */
export function matchesLoose({ match }: PolicyRule, loose: readonly Rule[]): boolean {
  const { commands, other_commands } = match;
  if ((commands ?? other_commands ?? match.arguments) !== undefined) return false;
  return match.paths === undefined && namesRules(match, loose);
}

function namesRules(
  { rule_ids, packs }: PolicyRule["match"],
  rules: readonly Rule[],
): boolean {
  if (rule_ids !== undefined && !rules.some(({ id }) => rule_ids.includes(id))) return false;
  return packs === undefined || rules.some(({ pack }) => packs.includes(pack));
}

function matchesArguments(match: PolicyRule["match"], { args }: SimpleCommand): boolean {
  const patterns = match.arguments;
  if (patterns !== undefined) {
    if (!patterns.every((pattern) => args.some((arg) => isArgument(pattern, arg)))) return false;
  }
  if (!match.exact) return true;
  return args.every((arg) => (patterns ?? []).some((pattern) => isArgument(pattern, arg)));
}

/** `-r` also stands in `-rf`; other words have to match as a whole. */
function isArgument(pattern: string, arg: string): boolean {
  if (pattern.length === 2 && pattern.startsWith("-") && pattern !== "--") {
    if (arg.startsWith("-") && !arg.startsWith("--")) return arg.includes(pattern.slice(1), 1);
  }
  return matchesGlob(pattern, arg);
}

/** Every word of a command that may be a path, seen from the folder that the line is in. */
function pathWords(command: SimpleCommand): string[] {
  const words = [
    ...command.args.filter((arg) => !arg.startsWith("-")),
    ...command.args.flatMap(valueOf),
    ...command.redirections.map(({ target }) => target),
  ];
  return words.map((word) => normalizePath(locate(command.cwd, word)));
}

/** What stands behind `=`, or behind an option's letter where a path begins. */
function valueOf(arg: string): string[] {
  const equals = arg.indexOf("=");
  if (equals >= 0) return [arg.slice(equals + 1)];
  const slash = arg.startsWith("-") ? arg.indexOf("/") : -1;
  return slash < 0 ? [] : [arg.slice(slash)];
}

/** For an allowance nothing is taken on trust: every operand is known, and lies within the globs. */
function liesWithin(
  globs: readonly string[],
  named: readonly string[],
  command: SimpleCommand,
): boolean {
  const words = [
    ...operands(command).filter((word) => !named.some((pattern) => isArgument(pattern, word))),
    ...command.args.filter((arg) => arg.startsWith("-")).flatMap(valueOf),
    ...command.redirections.filter(({ operator }) => !operator.endsWith("&"))
      .map(({ target }) => target),
  ];
  return words.length > 0 && words.every((word) => {
    if (word.includes(UNKNOWN)) return false;
    const path = normalizePath(locate(command.cwd, word));
    // What a wildcard of the command's own finds is only certain below a `**`.
    return globs.some((glob) =>
      matchesPathGlob(glob, path) && (!hasGlob(word) || glob.includes("**"))
    );
  });
}

/** For a refusal a wildcard, or a part that is not known, may be anything. */
function mayMatch(glob: string, path: string): boolean {
  if (matchesPathGlob(glob, path)) return true;
  const known = literalStart(path);
  if (known.length === path.length || known === "") return false;
  const wanted = literalStart(glob);
  return wanted.startsWith(known) || (wanted.length < glob.length && known.startsWith(wanted));
}

function literalStart(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if ("*?[".includes(text[i] ?? "") || text[i] === UNKNOWN) return text.slice(0, i);
  }
  return text;
}
