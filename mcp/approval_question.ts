import { approvalPage } from "../core/agents/agents.ts";
import { publicOrigin } from "../core/context/context.ts";
import type { Exchange } from "./exchange.ts";
import { isObject } from "./json_rpc.ts";

/** The address at which people decide about a request for approval. */
export const approvalUrl = ({ actor, relay }: Exchange, pid: string): string =>
  `${publicOrigin(relay.settings)}${approvalPage(actor.tenant, pid)}`;

/** The question to a client's user while a command waits for approval. */
export const approvalQuestion = (
  exchange: Exchange,
  { command, approval_id }: { readonly command: string; readonly approval_id: string | null },
) => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message: `The shield is holding \`${command.slice(0, 500)}\` until it is approved at ` +
      `${approvalUrl(exchange, approval_id!)} . Keep waiting, or withdraw the request?`,
    requestedSchema: {
      type: "object",
      properties: {
        decision: { type: "string", enum: ["wait", "withdraw"], default: "wait" },
      },
      required: ["decision"],
    },
  },
});

/** True when the user decided to take the command back. */
export function withdraws(responses: unknown): boolean {
  const answer = isObject(responses) ? responses.approval : undefined;
  if (!isObject(answer)) return false;
  return answer.action === "accept" && isObject(answer.content) &&
    answer.content.decision === "withdraw";
}
