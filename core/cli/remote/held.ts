import { type Client, RelayError } from "../../client/client.ts";
import { deciders, pageAt } from "./approvals.ts";
import type { Call } from "./command.ts";

/** Who may decide about a request for approval, and where: here or in a browser. */
export async function whoMayDecide({ target }: Call, client: Client, pid: string): Promise<string> {
  const approval = await client.call("approvals.get", { params: { pid } }).catch(unseen);
  const who = approval === null ? "a person with approvals:write" : deciders(approval);
  const page = approval === null ? "" : `\nIn a browser: ${pageAt(target().url, approval)}`;
  return `${who.charAt(0).toUpperCase()}${
    who.slice(1)
  } may decide: relay approvals approve ${pid}${page}`;
}

/** Whether to wait for a decision: as the option says, or as the person answers. */
export function waitsForDecision({ has, host }: Call): boolean {
  if (has("wait")) return true;
  const answer = host.interactive ? host.ask("Wait for the decision? [Y/n]") : "n";
  return !/^n/i.test(answer?.trim() ?? "n");
}

function unseen(error: unknown): null {
  if (error instanceof RelayError && (error.status === 403 || error.status === 404)) return null;
  throw error;
}
