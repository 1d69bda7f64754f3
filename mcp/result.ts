import type { Exchange } from "./exchange.ts";
import type { Params } from "./json_rpc.ts";
import { META_SERVER } from "./revision.ts";

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
export function writeResult({ era, server }: Exchange, { members, type, meta }: Result): string {
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
  { era }: Exchange,
  members: string,
  { ttlMs, scope }: { readonly ttlMs: number; readonly scope: "public" | "private" },
): Result {
  if (era !== "modern") return { members };
  return { members: `${members},"ttlMs":${ttlMs},"cacheScope":"${scope}"` };
}
