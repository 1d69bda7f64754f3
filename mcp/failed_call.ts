import type { Result } from "./exchange.ts";
import type { Params } from "./rpc.ts";

/** The member of a result's `_meta` that tells a refusal to programs. */
const META_ERROR = "relay/error";

/** A refusal as a tool tells it, so that the model can read it and do better. */
export function failedCall(
  { code, message, details }: { code: string; message: string; details: Params },
  requestId: string,
): Result {
  const error = {
    code,
    message: inArguments(message),
    details: { ...withArguments(details), request_id: requestId },
  };
  const text = JSON.stringify(JSON.stringify({ error }));
  return {
    members: `"content":[{"type":"text","text":${text}}],"isError":true`,
    meta: { [META_ERROR]: error },
  };
}

function withArguments(details: Params): Params {
  if (!Array.isArray(details.issues)) return details;
  const issues = (details.issues as { path: string; message: string }[]).map((issue) => ({
    ...issue,
    path: inArguments(issue.path),
  }));
  return { ...details, issues };
}

/** Tools have arguments where HTTP has paths, queries and bodies. */
const inArguments = (text: string): string =>
  text.replace(/^(params|query|body)(?=$|[.:])/, "arguments");
