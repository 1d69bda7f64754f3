import { type SimpleCommand, TEMPORARY_FOLDER } from "../../model.ts";
import { hasOption, operands } from "../../programs/arguments.ts";
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

/** A client that only tells about itself, rehearses (`bq`), or has a server that refuses to write. */
export const touchesNothing = (command: SimpleCommand): boolean =>
  command.args.some((arg) => /^--(?:help(?:=|$)|version$|dry_run$)/.test(arg)) ||
  onlyReads(command);

function onlyReads(command: SimpleCommand): boolean {
  const { args, assignments, name } = command;
  const texts = [assignments.get("PGOPTIONS") ?? "", ...args, command.stdin?.text ?? ""];
  return (hasOption(command, "-readonly", "--readonly", "--read-only") ||
    (name === "wrangler" && hasOption(command, "--local") && !hasOption(command, "--remote")) ||
    texts.slice(0, -1).some((text) => READS_ONLY.test(text))) &&
    !texts.some((text) => WRITES_AGAIN.test(text));
}

const READS_ONLY = /default_transaction_read_only(?:=|%3D)(?:on|true|1)/;
/** A statement that takes the refusal back. */
const WRITES_AGAIN = /\bread\s{1,9}write\b|read_only\s{0,9}(?:=|to)\s{0,9}(?:off|false|0)/i;

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
  (!arg.startsWith("-") || /^(?:-d|--db|--database|--dbname|--uri)/.test(arg));

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

/** A file of statements or code that is named for what it reads: `reports/weekly.sql`. */
export const NAMED_AS_READING =
  /(?:^|[^a-z])(?:reports?|reporting|quer(?:y|ies)|selects?|stats?|statistics|metrics?|checks?|counts?|explain|show|list|analysis|analytics|inspect|status|dashboards?|diagnos\w*|health|monitoring|kpis?|audit|readonly|read_only)(?:[^a-z]|$)/i;
