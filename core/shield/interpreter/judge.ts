import {
  FROM_DECODER,
  FROM_NETWORK,
  newCommand,
  type Redirection,
  type Rule,
  type SimpleCommand,
  type Span,
  UNKNOWN,
} from "../model.ts";
import {
  matchRules,
  ruleNames,
  RULES_FOR_ALL,
  RULES_FOR_ASSIGNED,
  RULES_FOR_REDIRECTED,
} from "../packs/packs.ts";
import { DECODED_CODE, DOWNLOADED_CODE, HIDDEN_PROGRAM } from "../packs/structure.ts";
import { hasGlob } from "../programs/paths.ts";
import { type Program, programOf, renamed } from "../programs/programs.ts";
import { matchesGlob } from "./glob.ts";
import { folderOf, report, type Scope } from "./scope.ts";

/** Judges redirections that stand outside of a simple command. */
export function judgeRedirections(
  redirections: readonly Redirection[],
  span: Span,
  scope: Scope,
  assignments: ReadonlyMap<string, string> = new Map(),
): void {
  if (redirections.length === 0 && assignments.size === 0) return;
  const command = newCommand({
    name: "",
    program: "",
    valuedLetters: null,
    args: [],
    redirections,
    assignments,
    cwd: folderOf(scope),
    stdin: null,
    inputs: null,
    wrappers: scope.wrappers,
    span,
  });
  judge(command, programOf(""), scope);
}

/** Matches a command with the rules of its name, of other possible names, and of all commands. */
export function judge(command: SimpleCommand, kind: Program, scope: Scope): void {
  const matched = matchRules(kind.rules, command);
  if (!kind.isPlain) {
    for (const name of hiddenNames(command, scope)) {
      matched.push(...matchRules(programOf(name).rules, renamed(command, name)));
    }
  }
  for (const rule of RULES_FOR_ALL) if (rule.match(command)) matched.push(rule);
  if (command.redirections.some(isTelling)) matchMore(RULES_FOR_REDIRECTED, command, matched);
  if (command.assignments.size > 0) matchMore(RULES_FOR_ASSIGNED, command, matched);
  for (const rule of matched) report(scope, rule, command.span);
  // A variable that is set by itself runs nothing.
  if (command.name !== "" || command.redirections.length > 0) {
    scope.inspection.commands.push({ command, rules: matched });
  }
}

/** A program whose name is computed: `$X -rf /`, `/bin/r? -rf /`; answers the names that it may have. */
function hiddenNames(command: SimpleCommand, scope: Scope): readonly string[] {
  const { name, program, span } = command;
  if (program.includes(FROM_NETWORK)) report(scope, DOWNLOADED_CODE, span);
  else if (program.includes(FROM_DECODER)) report(scope, DECODED_CODE, span);
  else if ((name.includes(UNKNOWN) || program.includes(ONE_OF)) && !scope.defining) {
    report(scope, HIDDEN_PROGRAM, span);
  }
  if (name.length < 2 || !hasGlob(name)) return [];
  report(scope, HIDDEN_PROGRAM, span);
  return ruleNames().filter((candidate) => matchesGlob(name, candidate, scope.inspection.budget));
}

/** Begins a list of words of which any may run; a slash in it ends no folder. */
const ONE_OF = `${UNKNOWN} `;

/** Whether a redirection matters to a rule; `2>&1` and `> /dev/null` are common and harmless. */
function isTelling({ target }: Redirection): boolean {
  return target !== "/dev/null" && target !== "1" && target !== "2";
}

function matchMore(rules: readonly Rule[], command: SimpleCommand, matched: Rule[]): void {
  for (const rule of rules) {
    if (!matched.includes(rule) && rule.match(command)) matched.push(rule);
  }
}
