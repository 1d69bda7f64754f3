import type { Params } from "./json_rpc.ts";
import type { Result } from "./result.ts";

/** The member of a result's `_meta` that holds the error for programs. */
const META_ERROR = "relay/error";

/** A tool's answer as structured content, and as text for older clients. */
export function structured(value: unknown): Result {
  const text = JSON.stringify(value);
  const quoted = JSON.stringify(text);
  return { members: `"content":[{"type":"text","text":${quoted}}],"structuredContent":${text}` };
}

/** A tool's refusal as a result, so that the model reads it and can correct its call. */
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

/** A path of the route's input as a path of the tool's arguments. */
const inArguments = (text: string): string =>
  text.replace(/^(params|query|body)(?=$|[.:])/, "arguments");
