import { type SimpleCommand, TEMPORARY_FOLDER } from "../../model.ts";
import { operands } from "../../programs/arguments.ts";
import { classifyPath } from "../../programs/paths.ts";

/** Clients whose database is a file, or the memory of the client. */
const FILE_CLIENTS = new Set(["sqlite3", "sqlite", "litecli", "duckdb"]);

const FILE_VALUED = new Set([
  "-cmd",
  "-init",
  "-separator",
  "-newline",
  "-nullvalue",
  "-c",
  "-s",
  "-f",
  "-e",
]);

/** A name of a database for tests or for one's own work: `app_test`, `dev.db`. */
const SCRATCH =
  /(?:^|[_\-/.])(?:test|tests|testing|dev|development|tmp|temp|scratch|sandbox|ci|example|sample)\d*(?:[_\-.?]|$)/i;

/** A client that is asked for help, its version or (`bq`) a rehearsal; it changes nothing then. */
export const asksForHelp = (command: SimpleCommand): boolean =>
  command.args.some((arg) => /^--(?:help(?:=|$)|version$|dry_run$)/.test(arg));

/** A database in memory, in a temporary folder, or in a file for tests. */
export function isScratchFile(command: SimpleCommand): boolean {
  if (!FILE_CLIENTS.has(command.name)) return false;
  const [path = ""] = operands(command, FILE_VALUED);
  if (path === "" || path.includes(":memory:") || path.startsWith(TEMPORARY_FOLDER)) return true;
  const place = classifyPath(path);
  return place === "temporary" || place === "regenerable" ||
    (!path.startsWith("/") && !path.startsWith("~") && SCRATCH.test(path));
}

/** A database that only the caller works with: such a file, or one that is named for tests. */
export const isScratch = (command: SimpleCommand): boolean =>
  FILE_CLIENTS.has(command.name)
    ? isScratchFile(command)
    : SCRATCH.test(command.assignments.get("PGDATABASE") ?? "") ||
      command.args.some((arg, at) =>
        isName(arg, command.args[at - 1] ?? "") && SCRATCH.test(databaseOf(arg))
      );

/** An address or a database's name, and not a statement, a file or a host. */
const isName = (arg: string, before: string): boolean =>
  !/[\s;]/.test(arg) && !arg.endsWith(".sql") && !arg.endsWith(".js") && !NOT_NAMES.has(before) &&
  (!arg.startsWith("-") || /^(?:-d|--d|--uri|--nsInclude)/.test(arg));

/** `postgres://host/app_test?sslmode=off` is about `app_test`. */
const databaseOf = (arg: string): string => arg.split("?", 1)[0]!.split(/[/=]/).at(-1)!;

const NOT_NAMES = new Set([
  "-f",
  "--file",
  "-h",
  "--host",
  "-U",
  "-u",
  "--username",
  "-o",
  "-e",
  "-c",
  "-v",
]);
