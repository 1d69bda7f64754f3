import { hasFlag, operands } from "./arguments.ts";
import { type Flow, NOTHING, type SimpleCommand } from "../model.ts";
import { classifyPath, isDisk, locate, normalizePath } from "./paths.ts";
import { isSecret } from "./secrets.ts";

const DUMPERS = new Set([
  "pg_dump",
  "pg_dumpall",
  "pg_basebackup",
  "mysqldump",
  "mariadb-dump",
  "mongodump",
  "mongoexport",
  "slapcat",
  "ldapsearch",
]);
/** What they save or export holds all files of a container. */
const ENGINES = new Set(["docker", "podman", "nerdctl"]);
const ARCHIVERS = new Set(["tar", "gtar", "bsdtar", "zip", "7z", "rar", "cpio", "pax"]);

/** Whether a path is a folder of the system or of people, as a whole. */
export function isWholeFolder(command: SimpleCommand, path: string): boolean {
  return ["root", "system", "home"].includes(classifyPath(locate(command.cwd, path)));
}

/** Whether the file lists a machine's accounts. */
export function isAccounts(path: string): boolean {
  const place = normalizePath(path);
  return place === "/etc/passwd" || place === "/etc/group" || place === "/etc/master.passwd";
}

/** What a file holds that the line did not write, as far as its name tells. */
export function namedFile(path: string): Flow {
  return { ...NOTHING, secret: isSecret(path), bulk: isAccounts(path) || isDisk(path) };
}

/** Whether a command writes out a database, a container, or whole folders of the system or of people. */
export function readsBulk(command: SimpleCommand): boolean {
  const { name, args } = command;
  if (DUMPERS.has(name)) return true;
  if (name === "sqlite3") return args.some((arg) => arg.startsWith(".dump"));
  if (name === "redis-cli") return args.includes("--rdb");
  if (ENGINES.has(name)) return args.includes("save") || args.includes("export");
  if (!ARCHIVERS.has(name)) return operands(command).some(isAccounts);
  const first = args[0] ?? "";
  const creates = !name.endsWith("tar") || hasFlag(command, "c", "create") ||
    (!first.startsWith("-") && first.includes("c"));
  return creates && operands(command).some((path) => isWholeFolder(command, path));
}
