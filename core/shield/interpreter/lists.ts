import type { AndOr, Command, CompoundList, Statement } from "unbash";
import { type Flow, mergeFlows, NOTHING } from "../model.ts";
import { eitherFolder, folderOf, fork, mentionsAny, type Scope, walkBranch } from "./scope.ts";

/** Walks statements, one after the other. */
export function walkStatements(
  statements: readonly Statement[],
  scope: Scope,
  stdin: Flow | null,
): Flow {
  if (statements.length === 1) return walkStatement(statements[0]!, scope, stdin);
  const hadLeft = scope.shell.hasLeft;
  const flows: Flow[] = [];
  for (const [i, statement] of statements.entries()) {
    if (scope.shell.hasLeft && !hadLeft) {
      const rest = statements.slice(i);
      flows.push(walkBranch(scope, (branch) => walkStatements(rest, branch, stdin)));
      break;
    }
    const flow = walkStatement(statement, scope, stdin);
    if (!scope.unread) flows.push(flow);
  }
  return scope.unread ? NOTHING : mergeFlows(flows);
}

function walkStatement(statement: Statement, scope: Scope, stdin: Flow | null): Flow {
  const inner = statement.background ? fork(scope, ASIDE) : scope;
  const node = statement.command;
  return node.type === "AndOr"
    ? walkChain(node, inner, stdin)
    : scope.inspection.walker.node(node, inner, stdin);
}

/** In the background, with its own variables and in no certain order. */
export const ASIDE: Partial<Scope> = { concurrent: true, conditional: true };

/** `a && b || c`: each part that stands behind another one may not run. */
function walkChain(chain: AndOr, scope: Scope, stdin: Flow | null): Flow {
  const { commands, operators } = withoutSkipped(chain, scope);
  const start = folderOf(scope);
  const { walker } = scope.inspection;
  const flows = [walker.node(commands[0]!, scope, stdin)];
  for (let i = 1, end; i < commands.length; i = end) {
    const otherwise = operators[i - 1] === "||";
    end = i + 1;
    while (!otherwise && operators[end - 1] === "&&") end++;
    const part = commands.slice(i, end);
    // Behind `||` the part before has failed, maybe before it changed the folder.
    const folder = folderOf(scope);
    const from = otherwise ? eitherFolder(start, folder) : folder;
    const walkPart = (branch: Scope) => part.map((command) => walker.node(command, branch, stdin));
    flows.push(...walkBranch(scope, walkPart, from));
  }
  return mergeFlows(flows);
}

/** Leaves out what `true ||` and `false &&` keep from running. */
function withoutSkipped({ commands, operators }: AndOr, scope: Scope) {
  const first = commands[0]!;
  const status = first.type === "Command" && first.prefix.length === 0
    ? STATUSES.get(first.name?.text ?? "")
    : undefined;
  const skipping = status === 0 ? "||" : "&&";
  if (
    first.type !== "Command" || status === undefined || operators[0] !== skipping ||
    isRenamed(first, scope)
  ) {
    return { commands, operators };
  }
  let at = 1;
  while (operators[at] === skipping) at++;
  return { commands: [first, ...commands.slice(at + 1)], operators: operators.slice(at) };
}

/** Whether a condition is the word `false` alone, so that what stands behind it never runs. */
export function neverHolds({ commands }: CompoundList, scope: Scope): boolean {
  const node = commands.length === 1 ? commands[0]!.command : undefined;
  return node?.type === "Command" && node.prefix.length === 0 && node.name?.text === "false" &&
    !isRenamed(node, scope);
}

/** A line may give these names another meaning. */
const isRenamed = ({ name }: Command, scope: Scope): boolean =>
  scope.functions.get(name?.text ?? "") !== undefined || mentionsAny(scope, RENAMERS);
const RENAMERS = ["alias", "enable", "hash"];

const STATUSES: ReadonlyMap<string, number> = new Map([["true", 0], [":", 0], ["false", 1]]);

/** Walks a list that may not run. */
export function walkBody(list: CompoundList, scope: Scope, stdin: Flow | null): Flow {
  return walkBranch(scope, (branch) => walkStatements(list.commands, branch, stdin));
}
