import { operands, optionValues } from "./arguments.ts";
import { flowText, NOTHING, type SimpleCommand, UNKNOWN } from "./command.ts";
import { computeOutput } from "./output.ts";
import { locate } from "./paths.ts";
import { assign, folderOf, type Scope } from "./scope.ts";

/** The variables that a command sets for itself, or for the commands after it. */
export function assignmentsOf(command: SimpleCommand): Iterable<readonly [string, string]> {
  if (!EXPORTERS.has(command.name)) return command.assignments;
  return command.args.filter((arg) => arg.includes("=")).map((arg) => {
    const at = arg.indexOf("=");
    return [arg.slice(0, at), arg.slice(at + 1)] as const;
  });
}

const EXPORTERS = new Set(["export", "declare", "typeset", "local", "readonly"]);

/** Builtins that compute the subscripts in their arguments. */
export const EVALUATORS = new Set(
  "[ declare export let local mapfile printf read readarray readonly test typeset unset wait".split(
    " ",
  ),
);

/** Builtins that change what later words expand to. */
export function updateScope(command: SimpleCommand, scope: Scope): void {
  switch (command.name) {
    case "read": {
      const value = flowText(command.stdin ?? NOTHING).trim();
      for (const name of operands(command, READ_VALUED)) assign(scope, name, value);
      return;
    }
    case "unset":
      for (const name of operands(command)) assign(scope, name, "");
      return;
    case "printf":
      for (const name of optionValues(command, "-v")) {
        assign(scope, name, computeOutput(command, () => null).text ?? UNKNOWN);
      }
      return;
    case "export":
    case "declare":
    case "local":
    case "typeset":
    case "readonly":
      return;
    case "cd":
    case "pushd":
      scope.values.set("PWD", locate(folderOf(scope), operands(command)[0] ?? "~"));
  }
}

const READ_VALUED = new Set(["-p", "-d", "-n", "-N", "-t", "-u", "-i", "-a"]);

/** Builtins that set variables, run code in their arguments or move to another folder. */
export const BUILTINS: ReadonlySet<string> = new Set([
  ...EXPORTERS,
  ...EVALUATORS,
  "cd",
  "pushd",
]);
