import { operands } from "../programs/arguments.ts";
import { type Comparing, spendCompare } from "../interpreter/budget.ts";
import { once, type Rule, type SimpleCommand, UNKNOWN } from "../model.ts";
import { matchesGlob, matchesPathGlob } from "../interpreter/glob.ts";
import { hasGlob, locate, normalizePath } from "../programs/paths.ts";
import type { PolicyRule } from "./policy.ts";

/** What a rule costs besides the characters that it compares. */
const RULE_COST = 4;

/** A command that the walk found, with the rules that matched it. */
export interface Examined {
  readonly command: SimpleCommand;
  readonly rules: readonly Rule[];
}

/** Whether a policy's rule matches this command; `rulesThatHold` checks the circumstances. @throws {BudgetSpent} */
export function matchesCommand(
  { match, verdict }: PolicyRule,
  { command, rules }: Examined,
  comparing: Comparing,
): boolean {
  const { commands, other_commands, paths } = match;
  if (!namesRules(match, rules, comparing)) return false;
  if (commands !== undefined) {
    if (!isNamed(command.name, commands, comparing)) return false;
  }
  if (other_commands !== undefined && isNamed(command.name, other_commands, comparing)) {
    return false;
  }
  if (!matchesArguments(match, command, comparing)) return false;
  if (paths === undefined) return true;
  return verdict === "allow"
    ? liesWithin(paths, match.arguments ?? [], command, comparing)
    : once(command, pathWords).some((path) =>
      paths.some((glob) => mayMatch(glob, path, comparing))
    );
}

const isNamed = (name: string, patterns: readonly string[], comparing: Comparing): boolean =>
  !name.includes(UNKNOWN) &&
  patterns.some((each) => matchesGlob(each.toLowerCase(), name, comparing));

/** Whether it matches findings that belong to no command: unreadable text, hidden code. @throws {BudgetSpent} */
export function matchesLoose(
  { match }: PolicyRule,
  loose: readonly Rule[],
  comparing: Comparing,
): boolean {
  const { commands, other_commands } = match;
  if ((commands ?? other_commands ?? match.arguments) !== undefined) return false;
  return match.paths === undefined && namesRules(match, loose, comparing);
}

function namesRules(
  { rule_ids, packs }: PolicyRule["match"],
  rules: readonly Rule[],
  comparing: Comparing,
): boolean {
  spendCompare(
    comparing,
    RULE_COST + rules.length * ((rule_ids?.length ?? 0) + (packs?.length ?? 0)),
  );
  if (rule_ids !== undefined && !rules.some(({ id }) => rule_ids.includes(id))) return false;
  return packs === undefined || rules.some(({ pack }) => packs.includes(pack));
}

function matchesArguments(
  match: PolicyRule["match"],
  { args }: SimpleCommand,
  comparing: Comparing,
): boolean {
  const patterns = match.arguments ?? [];
  const fits = (pattern: string, arg: string) => isArgument(pattern, arg, comparing);
  if (!patterns.every((pattern) => args.some((arg) => fits(pattern, arg)))) return false;
  if (!match.exact) return true;
  return args.every((arg) => patterns.some((pattern) => fits(pattern, arg)));
}

/** `-r` also stands in `-rf`; other words have to match as a whole. */
function isArgument(pattern: string, arg: string, comparing: Comparing): boolean {
  if (pattern.length === 2 && pattern.startsWith("-") && pattern !== "--") {
    if (arg.startsWith("-") && !arg.startsWith("--")) {
      spendCompare(comparing, arg.length);
      return arg.includes(pattern.slice(1), 1);
    }
  }
  return matchesGlob(pattern, arg, comparing);
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

/** An allowance requires that every operand is known and lies within the globs. */
function liesWithin(
  globs: readonly string[],
  named: readonly string[],
  command: SimpleCommand,
  comparing: Comparing,
): boolean {
  spendCompare(comparing, command.args.length);
  const isOther = (word: string) => !named.some((pattern) => isArgument(pattern, word, comparing));
  const words = [
    ...operands(command).filter(isOther),
    ...command.args.filter((arg) => arg.startsWith("-")).flatMap(valueOf),
    ...command.redirections.filter(({ operator }) => !operator.endsWith("&"))
      .map(({ target }) => target),
  ];
  return words.length > 0 && words.every((word) => {
    if (word.includes(UNKNOWN)) return false;
    spendCompare(comparing, command.cwd.length + word.length);
    const path = normalizePath(locate(command.cwd, word));
    // A wildcard in the command is only certain to stay below a `**`.
    return globs.some((glob) =>
      matchesPathGlob(glob, path, comparing) && (!hasGlob(word) || glob.includes("**"))
    );
  });
}

/** For a refusal, a wildcard or an unknown part may be anything. */
function mayMatch(glob: string, path: string, comparing: Comparing): boolean {
  if (matchesPathGlob(glob, path, comparing)) return true;
  const known = literalStart(path);
  spendCompare(comparing, known.length);
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
