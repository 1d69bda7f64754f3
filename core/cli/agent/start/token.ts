import type { AgentArguments } from "./arguments.ts";
import type { AgentFiles, AgentTree } from "../interfaces.ts";

/** The agent's credential in systemd: `LoadCredential=relay-token:/etc/relay/token`. */
const SYSTEMD_CREDENTIAL = "relay-token";
/** Other users may read or write it. */
const OTHERS = 0o007;

/** The given credential, and a sentence about others who can read it; each null for none. */
export interface GivenToken {
  readonly token: string | null;
  readonly warning: string | null;
}

/** The sources of a credential. */
interface Sources {
  readonly files: Pick<AgentFiles, "read">;
  readonly tree: Pick<AgentTree, "look">;
  /** The agent's own variables; see `takeEnvironment`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Reads the first line of standard input. */
  readonly stdin: () => string;
}

/**
 * Finds the agent's credential in an option, systemd's credentials or RELAY_TOKEN, in this order.
 * @throws {Error} with a sentence that names what is wrong
 */
export function findToken(
  { token, tokenFile, tokenStdin, runAs }: AgentArguments,
  { files, tree, environment, stdin }: Sources,
): GivenToken {
  const given = [token, tokenFile, tokenStdin].filter((option) => option !== undefined);
  if (given.length > 1) {
    throw new Error("Give only one of --token, --token-file and --token-stdin.");
  }
  // A process cannot remove a variable from /proc/<pid>/environ, which its own user's processes can read.
  const stays = environment["RELAY_TOKEN"] !== undefined && runAs === undefined
    ? readable("RELAY_TOKEN", "in /proc/<pid>/environ of the agent")
    : null;
  if (token !== undefined) {
    return { token, warning: readable("--token", "in the list of processes") };
  }
  if (tokenStdin) return { token: stdin(), warning: stays };
  if (tokenFile !== undefined) {
    const text = readFile(tokenFile, files);
    if (text === null) throw new Error(`There is no token file "${tokenFile}".`);
    const found = tree.look(tokenFile);
    const open = found?.kind === "file" && (found.mode & OTHERS) !== 0;
    const warning = `other users can read the token file: chmod 600 ${tokenFile}`;
    return { token: text, warning: open ? warning : stays };
  }
  const folder = environment["CREDENTIALS_DIRECTORY"];
  const credential = folder === undefined
    ? null
    : readFile(`${folder}/${SYSTEMD_CREDENTIAL}`, files);
  return { token: credential ?? environment["RELAY_TOKEN"] ?? null, warning: stays };
}

const readable = (option: string, where: string): string =>
  `every command that this agent runs can read ${option} ${where}: pair this machine with ` +
  "`relay agent pair`, or give the credential with --token-file or --token-stdin";

function readFile(path: string, files: Pick<AgentFiles, "read">): string | null {
  try {
    return files.read(path);
  } catch (error) {
    throw new Error(`The token file "${path}" cannot be read: ${error}.`);
  }
}
