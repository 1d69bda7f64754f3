import type { ParsedScript } from "unbash";
import { type Flow, NOTHING } from "../model.ts";
import { UNPARSEABLE } from "../packs/structure.ts";
import { BudgetSpent, spendParse } from "./budget.ts";
import { MAX_DEPTH } from "./limits.ts";
import { walkStatements } from "./lists.ts";
import { parseShell } from "./parse.ts";
import { fork, report, type Scope, within } from "./scope.ts";

/** Parses text and walks all that it runs. @throws {BudgetSpent} */
export function walkText(text: string, scope: Scope, stdin: Flow | null): Flow {
  spendParse(scope.inspection.budget, text.length);
  if (scope.wrappers.length > MAX_DEPTH) throw new BudgetSpent();
  const script = parseAgain(text, scope);
  if (script.errors === undefined || script.errors.length === 0) {
    return walkStatements(script.commands, scope, stdin);
  }
  report(scope, UNPARSEABLE, scope.span ?? { start: 0, end: text.length });
  if (text.includes("\n")) walkPieces(text, "\n", fork(scope), true);
  walkPieces(text, "\n;|&", fork(scope), false);
  return NOTHING;
}

/** The same short text may run often: an alias, a trap, the text behind `-c`. */
function parseAgain(text: string, { inspection, wrappers }: Scope): ParsedScript {
  if (wrappers.length === 0 || text.length > REPEATED_MAX) return parseShell(text);
  return inspection.parsed.getOrInsertComputed(text, parseShell);
}

const REPEATED_MAX = 64;

/**
 * Walks code of a language with commands like a shell's; text that does not parse is no finding. The pieces between
 * the first separators are then walked if they parse, and those between the second in any case.
 */
export function walkForeign(
  text: string,
  [whole, smallest]: readonly [string, string],
  scope: Scope,
): void {
  spendParse(scope.inspection.budget, text.length);
  const script = parseShell(text);
  if (script.errors === undefined || script.errors.length === 0) {
    walkStatements(script.commands, scope, null);
    return;
  }
  walkPieces(text, whole, fork(scope), true);
  walkPieces(text, smallest, scope, false);
}

/** The fixed cost of parsing a piece, in characters. */
const PIECE_COST = 64;

/**
 * A shell runs the valid lines before a syntax error, and another shell may read the text otherwise. So the lines,
 * and then the smallest pieces, are walked on their own. What the parser recovers from the whole is not used: more
 * text could change it, and lower the score.
 */
function walkPieces(text: string, separators: string, scope: Scope, whole: boolean): void {
  const separator = new RegExp(`[${separators}]|$`, "g");
  for (let from = 0; from <= text.length;) {
    separator.lastIndex = from;
    const end = separator.exec(text)!.index;
    const piece = text.slice(from, end);
    if (piece.trim() !== "") {
      spendParse(scope.inspection.budget, piece.length + PIECE_COST);
      const script = parseShell(piece);
      const span = scope.span ?? { start: from, end };
      if (!whole || script.errors === undefined) {
        walkStatements(script.commands, within(scope, { span }), null);
      }
    }
    from = end + 1;
  }
}
