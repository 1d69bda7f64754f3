import { factsOf } from "./families.ts";
import type { FileNoter } from "./family.ts";
import type { Flow, Redirection, SimpleCommand } from "../model.ts";
import { type Scope, writeFile } from "../interpreter/scope.ts";

/** Notes the files that redirections write. */
export function noteRedirections(
  redirections: readonly Redirection[],
  output: Flow,
  scope: Scope,
): void {
  for (const { operator, target, fd } of redirections) {
    if (!operator.includes(">") || operator === ">&" || fd === 2 || target === "/dev/null") {
      continue;
    }
    writeFile(scope, target, output, operator.includes(">>"));
  }
}

const FILE_NOTERS = factsOf("noteFiles");

/** How the files that a program writes are noted; null for programs that write none. */
export function fileNoterOf(name: string): FileNoter | null {
  return FILE_NOTERS.get(name) ?? null;
}

const WRITES = factsOf("writes");

/** Programs that write to files which they name. */
export const WRITERS: readonly string[] = [...WRITES.keys()];

/** The files that a program writes by its own arguments. */
export function writtenPaths(command: SimpleCommand): readonly string[] {
  return WRITES.get(command.name)?.(command) ?? [];
}
