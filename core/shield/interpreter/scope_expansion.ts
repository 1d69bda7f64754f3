import type { CommandExpansionPart, ProcessSubstitutionPart } from "unbash";
import { spend } from "./budget.ts";
import { type Flow, flowText, NOTHING, UNKNOWN } from "../model.ts";
import type { Expansion } from "./expand.ts";
import { UNPARSEABLE } from "../packs/structure.ts";
import { fork, report, type Scope } from "./scope.ts";
import { evaluate } from "./evaluate.ts";
import { walkStatements } from "./lists.ts";

/** Expands words with the variables of one place. */
export function scopeExpansion(
  scope: Scope,
  stdin: Flow | null,
  leavesOut = false,
): Expansion {
  return {
    values: scope.values,
    positional: scope.positional,
    optional: false,
    leavesOut,
    spend: (chars) => spend(scope.inspection.budget, chars),
    doubt: ({ pos, end }) => report(scope, UNPARSEABLE, scope.span ?? { start: pos, end }),
    substitute: (part) => substitute(part, scope, stdin),
    substituteProcess: (part) => substituteProcess(part, scope, stdin),
    compute: (part) =>
      scope.inspection.walker.brackets(part.expression, part.text.slice(3, -2), scope),
    evaluate: (text) => evaluate(text, scope),
  };
}

function substitute(part: CommandExpansionPart, scope: Scope, stdin: Flow | null): string {
  if (part.script === undefined) return UNKNOWN;
  const flow = walkStatements(part.script.commands, inside("$()", part, scope), stdin);
  const text = flowText(flow);
  let end = text.length;
  while (end > 0 && text[end - 1] === "\n") end--;
  spend(scope.inspection.budget, end);
  return text.slice(0, end);
}

function substituteProcess(
  part: ProcessSubstitutionPart,
  scope: Scope,
  stdin: Flow | null,
): string {
  const { files, fileNames } = scope.inspection;
  const path = `/dev/fd/${files.size + 63}`;
  const input = part.operator === ">" ? stdin ?? NOTHING : stdin;
  const flow = part.script === undefined
    ? NOTHING
    : walkStatements(part.script.commands, inside(`${part.operator}()`, part, scope), input);
  files.set(path, flow);
  fileNames.add(path);
  return path;
}

/** The scope of code inside a word; a script with its own text keeps the place of its word. */
function inside(
  wrapper: string,
  part: CommandExpansionPart | ProcessSubstitutionPart,
  scope: Scope,
): Scope {
  const own = part.type === "CommandExpansion" && part.script?.source !== undefined;
  return fork(scope, {
    unread: false,
    wrappers: [...scope.wrappers, wrapper],
    span: scope.span ?? (own ? { start: part.pos, end: part.end } : null),
  });
}
