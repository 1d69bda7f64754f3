import type { Span } from "../model.ts";
import { spend } from "./budget.ts";
import { lookUp } from "./parameter.ts";
import { fork, type Scope } from "./scope.ts";
import { walkText } from "./text.ts";

/** Arithmetic evaluates names and their values in turn, and so runs the code in subscripts. */
export function evaluate(
  text: string,
  scope: Scope,
  span: Span = scope.span ?? { start: 0, end: 0 },
  seen: readonly string[] = [],
): void {
  if (text.includes("$(") || text.includes("`")) {
    const place = fork(scope, { wrappers: [...scope.wrappers, "[]"], span });
    walkText(`: "${text.replaceAll('"', "")}"`, place, null);
    return;
  }
  for (const [match] of text.matchAll(/\$[\d@*]|[a-z_]\w*/gi)) {
    const name = match.startsWith("$") ? match.slice(1) : match;
    const value = seen.includes(name) ? undefined : lookUp(name, scope);
    spend(scope.inspection.budget, value?.length ?? 0);
    if (value !== undefined) evaluate(value, scope, span, [...seen, name]);
  }
}
