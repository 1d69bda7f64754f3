import type { ArithmeticExpression, TestExpression } from "unbash";
import { isNoArithmetic } from "./arithmetic.ts";
import { spend } from "./budget.ts";
import { UNKNOWN } from "../model.ts";
import { expandParts, expandText } from "./expand.ts";
import { assign, fork, type Scope } from "./scope.ts";
import { ScopeExpansion } from "./scope_expansion.ts";
import { evaluate } from "./evaluate.ts";
import { walkStatements } from "./lists.ts";
import { walkText } from "./text.ts";

/** `[[ … ]]`: its words, and the code in them. */
export function walkTest(expression: TestExpression, scope: Scope): void {
  const expansion = new ScopeExpansion(scope, null);
  switch (expression.type) {
    case "TestUnary":
      evaluateWhere(expression.operator, expandText(expression.operand, expansion), scope);
      return;
    case "TestBinary":
      if (expression.operator === "=~") scope.values.set("BASH_REMATCH", UNKNOWN);
      evaluateWhere(expression.operator, expandText(expression.left, expansion), scope);
      evaluateWhere(expression.operator, expandText(expression.right, expansion), scope);
      return;
    case "TestLogical":
      for (const operand of expression.operands) walkTest(operand, scope);
      return;
    case "TestNot":
      walkTest(expression.operand, scope);
      return;
    case "TestGroup":
      walkTest(expression.expression, scope);
  }
}

/** `((…))`: arithmetic, or else a command in a subshell. */
export function walkBrackets(
  expression: ArithmeticExpression | undefined,
  text: string,
  scope: Scope,
): void {
  walkArithmetic(expression, scope);
  if (!isNoArithmetic(expression)) return;
  const span = scope.span ?? { start: 0, end: 0 };
  walkText(text, fork(scope, { wrappers: [...scope.wrappers, "(())"], span }), null);
}

/** Substitutions run inside arithmetic as well. */
export function walkArithmetic(expression: ArithmeticExpression | undefined, scope: Scope): void {
  if (expression === undefined) return;
  spend(scope.inspection.budget, 0);
  switch (expression.type) {
    case "ArithmeticBinary":
      walkArithmetic(expression.left, scope);
      walkArithmetic(expression.right, scope);
      if (ASSIGNING.has(expression.operator)) forget(expression.left, scope);
      return;
    case "ArithmeticUnary":
      walkArithmetic(expression.operand, scope);
      if (STEPS.has(expression.operator)) forget(expression.operand, scope);
      return;
    case "ArithmeticTernary":
      for (const part of [expression.test, expression.consequent, expression.alternate]) {
        walkArithmetic(part, scope);
      }
      return;
    case "ArithmeticGroup":
      walkArithmetic(expression.expression, scope);
      return;
    case "ArithmeticWord":
      evaluate(
        expression.parts === undefined
          ? expression.value
          : expandParts(expression.parts, new ScopeExpansion(scope, null)),
        scope,
      );
      return;
    case "ArithmeticCommandExpansion":
      if (expression.script !== undefined) {
        walkStatements(
          expression.script.commands,
          fork(scope, { wrappers: [...scope.wrappers, "$()"] }),
          null,
        );
      }
  }
}

const ASSIGNING = new Set(["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="]);
const STEPS = new Set(["++", "--"]);

/** A variable that arithmetic changes becomes unknown. */
function forget(target: ArithmeticExpression, scope: Scope): void {
  if (target.type === "ArithmeticWord") assign(scope, target.value, UNKNOWN);
}

/** `[[ x -eq 1 ]]` compares as arithmetic does, `[[ -v x ]]` computes a subscript. */
function evaluateWhere(operator: string, text: string, scope: Scope): void {
  if (EVALUATING.has(operator)) evaluate(text, scope);
}

const EVALUATING = new Set(["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"]);
