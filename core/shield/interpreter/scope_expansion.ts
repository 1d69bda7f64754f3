import type {
  ArithmeticExpansionPart,
  CommandExpansionPart,
  ProcessSubstitutionPart,
  WordPart,
} from "unbash";
import { spend } from "./budget.ts";
import { type Flow, flowText, NOTHING, UNKNOWN } from "../model.ts";
import type { Expansion } from "./expand.ts";
import type { Values } from "./names.ts";
import { UNPARSEABLE } from "../packs/structure.ts";
import type { Positional } from "./parameter.ts";
import { fork, report, type Scope } from "./scope.ts";
import { evaluate } from "./evaluate.ts";
import { walkStatements } from "./lists.ts";

/**
 * Expands words with the variables of one place. Each command makes one: as an object with functions of its own it
 * takes ten times the memory.
 */
export class ScopeExpansion implements Expansion {
  readonly #scope: Scope;
  readonly #stdin: Flow | null;
  readonly leavesOut: boolean;
  optional = false;

  constructor(scope: Scope, stdin: Flow | null, leavesOut = false) {
    this.#scope = scope;
    this.#stdin = stdin;
    this.leavesOut = leavesOut;
  }

  get values(): Values {
    return this.#scope.values;
  }

  get positional(): Positional {
    return this.#scope.positional;
  }

  spend(chars: number): void {
    spend(this.#scope.inspection.budget, chars);
  }

  doubt({ pos, end }: WordPart): void {
    report(this.#scope, UNPARSEABLE, this.#scope.span ?? { start: pos, end });
  }

  substitute(part: CommandExpansionPart): string {
    return substitute(part, this.#scope, this.#stdin);
  }

  substituteProcess(part: ProcessSubstitutionPart): string {
    return substituteProcess(part, this.#scope, this.#stdin);
  }

  compute({ expression, text }: ArithmeticExpansionPart): void {
    this.#scope.inspection.walker.brackets(expression, text.slice(3, -2), this.#scope);
  }

  evaluate(text: string): void {
    evaluate(text, this.#scope);
  }
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
