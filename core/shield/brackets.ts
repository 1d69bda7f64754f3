import type { ArithmeticExpression, TestExpression } from "unbash";
import { isNoArithmetic } from "./arithmetic.ts";
import { spend } from "./budget.ts";
import { expandParts, expandText } from "./expand.ts";
import { fork, type Scope } from "./scope.ts";
import { ScopeExpansion } from "./scope_expansion.ts";
import { walkScript, walkText } from "./walk.ts";

/** `[[ … ]]`: its words, and the code in them. */
export function walkTest(expression: TestExpression, scope: Scope): void {
  const expansion = new ScopeExpansion(scope, null);
  switch (expression.type) {
    case "TestUnary":
      expandText(expression.operand, expansion);
      return;
    case "TestBinary":
      expandText(expression.left, expansion);
      expandText(expression.right, expansion);
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

/** `((…))`: arithmetic, or, where it is none, a command in a subshell. */
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
      return;
    case "ArithmeticUnary":
      walkArithmetic(expression.operand, scope);
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
      expandParts(expression.parts ?? [], new ScopeExpansion(scope, null));
      return;
    case "ArithmeticCommandExpansion":
      if (expression.script !== undefined) {
        walkScript(expression.script, fork(scope, { wrappers: [...scope.wrappers, "$()"] }), null);
      }
  }
}
