import { type Flow, NOTHING, type SimpleCommand } from "../model.ts";
import { classifyPath, isDisk, locate, normalizePath } from "./paths.ts";
import { isSecret } from "./secrets.ts";

/** Whether a path is a whole folder of the system or of people. */
export function isWholeFolder(command: SimpleCommand, path: string): boolean {
  return ["root", "system", "home"].includes(classifyPath(locate(command.cwd, path)));
}

/** Whether the file lists a machine's accounts. */
export function isAccounts(path: string): boolean {
  const place = normalizePath(path);
  return place === "/etc/passwd" || place === "/etc/group" || place === "/etc/master.passwd";
}

/** The content of a file that the line did not write, as far as its name tells. */
export function namedFile(path: string): Flow {
  return { ...NOTHING, secret: isSecret(path), bulk: isAccounts(path) || isDisk(path) };
}
