import { isObject } from "./json_rpc.ts";

/** The question to a client's user while a command waits for approval. */
export const approvalQuestion = (
  { command, approval_id }: { readonly command: string; readonly approval_id: string | null },
) => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message: `The shield holds \`${command.slice(0, 500)}\` back until people approve it ` +
      `(${approval_id}). Keep waiting, or take it back?`,
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
