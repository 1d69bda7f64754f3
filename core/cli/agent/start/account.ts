import { ownUser } from "../host.ts";
import type { Account } from "../interfaces.ts";

/** The user names that are safe in the shell text below. */
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/**
 * Finds the user of `--run-as`; the agent must be root, and the user another one.
 * @throws {Error} with a sentence that says what to do
 */
export function findAccount(name: string): Account {
  if (Deno.build.os === "windows") throw new Error("There is no --run-as on Windows.");
  if (ownUser() !== 0) {
    throw new Error(
      `Only root may run commands as another user: start the agent as root, or start it as ${name} ` +
        "without --run-as.",
    );
  }
  const [uid, gid, home = ""] = NAME.test(name) ? askSystem(name) : [];
  if (!/^\d+$/.test(uid ?? "") || !/^\d+$/.test(gid ?? "")) {
    throw new Error(
      `This machine has no user "${name}": create one, for example with ` +
        "`useradd --system --create-home relay-run`, and name it with --run-as.",
    );
  }
  if (uid === "0") throw new Error(`The user "${name}" is root: name one with fewer rights.`);
  return { name, uid: Number(uid), gid: Number(gid), home: isFolder(home) ? home : "/" };
}

/** The user id, main group and home folder of a user, from the system's user database. */
function askSystem(name: string): string[] {
  const script = `id -u ${name} && id -g ${name} && echo ~${name}`;
  const { success, stdout } = new Deno.Command("sh", {
    args: ["-c", script],
    stdin: "null",
    stderr: "null",
  }).outputSync();
  return success ? new TextDecoder().decode(stdout).split("\n") : [];
}

function isFolder(path: string): boolean {
  try {
    return path.startsWith("/") && Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
