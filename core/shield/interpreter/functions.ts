import type { Function as FunctionNode } from "unbash";
import type { Flow, Span } from "../model.ts";
import type { Kept, Value } from "./names.ts";
import { argumentsOf } from "./parameter.ts";
import { fork, isNeverUsed, type Scope, walkBranch, within } from "./scope.ts";

/** A definition that the line may use is walked once as it stands; each call walks it again with its arguments. */
export function defineFunction(node: FunctionNode, scope: Scope): void {
  const name = node.name.value;
  scope.functions.set(name, node);
  if (isNeverUsed(scope, name, scope.inspection.text.slice(node.pos, node.end))) return;
  const walk = () => {
    scope.inspection.walker.node(
      node.body,
      fork(scope, {
        positional: argumentsOf(null),
        defining: true,
        span: scope.span ?? { start: node.pos, end: node.end },
        active: new Set([...scope.active, node]),
      }),
      null,
    );
  };
  // At the end of the line, the variables are set that it names.
  if (scope.span === null && scope.wrappers.length === 0 && !scope.conditional) {
    scope.inspection.later.push(walk);
  } else walk();
}

/** Runs a function that the line defined. */
export function callFunction(
  node: FunctionNode,
  args: readonly string[],
  scope: Scope,
  span: Span,
  stdin: Flow | null,
): Flow {
  const active = new Set([...scope.active, node]);
  const locals = new Map<string, Kept<Value>>();
  const { hasLeft } = scope.shell;
  const written = scope.inspection.walker.node(
    node.body,
    within(scope, { positional: argumentsOf(args), span, active, locals, defining: false }),
    stdin,
  );
  scope.shell.hasLeft = hasLeft;
  for (const [name, before] of locals) scope.values.restore(name, before);
  return written;
}

/** Calls a doubtful function: both definitions run, and the caller runs the program of that name as well. */
export function callEither(
  name: string,
  defined: FunctionNode,
  args: readonly string[],
  scope: Scope,
  span: Span,
  stdin: Flow | null,
): void {
  const other = scope.functions.otherOf(name);
  for (const either of other === undefined ? [defined] : [defined, other]) {
    if (scope.active.has(either)) continue;
    walkBranch(scope, (branch) => callFunction(either, args, branch, span, stdin));
  }
}
