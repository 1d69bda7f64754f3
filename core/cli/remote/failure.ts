import { RelayError } from "../../client/client.ts";
import { printableLine } from "../printable_line.ts";
import { UsageError } from "../arguments.ts";
import { withRemedy } from "../unreached.ts";
import { NotSignedInError } from "./target.ts";
import { type CommandWords, inWordsOf } from "./translate.ts";

/** A failure as a person sees it: what is wrong, what to do next, and the exit code. */
export interface Failure {
  readonly text: string;
  readonly exit: number;
}

/** What to do about the failure of a command, which used a credential for the relay at `url`, or none yet. */
export function failureOf(error: unknown, command: CommandWords, url?: string): Failure {
  const message = printableLine(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError) {
    return { text: `${message} See: relay ${command.name} --help`, exit: 2 };
  }
  if (error instanceof NotSignedInError) return { text: `relay: ${message}`, exit: 3 };
  if (!(error instanceof RelayError)) return { text: `relay: ${message}`, exit: 1 };
  const next = nextOf(error, url);
  const id = error.requestId === null || error.status < 500 ? "" : ` (request ${error.requestId})`;
  const text = `relay: ${withRemedy(printableLine(inWordsOf(command, error)))}${id}${
    next === "" ? "" : `\n${next}`
  }`;
  return { text, exit: error.status === 401 ? 3 : error.status === 0 ? 4 : 1 };
}

function nextOf({ code, status, details }: RelayError, url?: string): string {
  if (code === "UNREACHED") {
    return "Check whether the relay runs. Another one: --url or --profile.";
  }
  // Without the address a password could go to another relay.
  if (status === 401 && url !== undefined) return `Sign in again: relay login --url ${url}`;
  if (code === "INSUFFICIENT_SCOPES") {
    const required = [details.required].flat().map((scope) => printableLine(`${scope}`));
    return `Ask an administrator for ${required.join(" or ")}. Your rights: relay whoami`;
  }
  if (code === "AGENT_NOT_FOUND") return "List the agents: relay agents ls";
  if (code === "AGENT_OFFLINE") return "Start the agent on its machine: relay agent";
  return "";
}
