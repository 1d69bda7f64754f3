import type { ArithmeticExpression } from "unbash";

/**
 * Whether text between double brackets is no arithmetic: shells then take `$((a; b))` for a command in a
 * subshell. The parser accepts words that hold blanks, and operators without an operand.
 */
export function isNoArithmetic(expression: ArithmeticExpression | undefined): boolean {
  if (expression === undefined) return false;
  switch (expression.type) {
    case "ArithmeticBinary":
      return isNoArithmetic(expression.left) || isNoArithmetic(expression.right);
    case "ArithmeticUnary":
      return isNoArithmetic(expression.operand);
    case "ArithmeticTernary":
      return isNoArithmetic(expression.test) || isNoArithmetic(expression.consequent) ||
        isNoArithmetic(expression.alternate);
    case "ArithmeticGroup":
      return isNoArithmetic(expression.expression);
    case "ArithmeticWord": {
      const literal = expression.parts === undefined
        ? expression.value
        : expression.parts.map((part) => part.type === "Literal" ? part.text : "x").join("");
      return literal.trim() === "" || /[\s;|&'"\\]/.test(literal.trim());
    }
    default:
      return false;
  }
}
