import type { Params, RequestIds } from "./json_rpc.ts";
import { type Era, META_SERVER } from "./revision.ts";

/** The answer of a method. */
export interface Result {
  /** The members of the result, as JSON without the braces. */
  readonly members: string;
  /** `complete` unless given. */
  readonly type?: "input_required" | "task";
  /** Goes into the result's `_meta`. */
  readonly meta?: Params;
}

/** A result with these members. */
export function resultOf(value: Params, type?: Result["type"]): Result {
  const members = JSON.stringify(value).slice(1, -1);
  return type === undefined ? { members } : { members, type };
}

/** The JSON of a result in the form of the request's era. */
export function writeResult(
  { era, server }: { readonly era: Era; readonly server: { readonly identityJson: string } },
  { members, type, meta }: Result,
): string {
  const separator = members === "" ? "" : ",";
  const more = meta && JSON.stringify(meta).slice(1, -1);
  if (era === "legacy") {
    return more === undefined ? `{${members}}` : `{${members}${separator}"_meta":{${more}}}`;
  }
  const own = `"_meta":{"${META_SERVER}":${server.identityJson}${more ? `,${more}` : ""}}`;
  return `{"resultType":"${type ?? "complete"}",${members}${separator}${own}}`;
}

/** A result with hints for caches, which only the current revision has. */
export function withCacheHints(
  { era }: { readonly era: Era },
  members: string,
  { ttlMs, scope }: { readonly ttlMs: number; readonly scope: "public" | "private" },
): Result {
  if (era !== "modern") return { members };
  return { members: `${members},"ttlMs":${ttlMs},"cacheScope":"${scope}"` };
}

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
  ids: RequestIds,
): Result {
  const error = {
    code,
    message: inArguments(message),
    details: { ...withArguments(details), ...ids },
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
