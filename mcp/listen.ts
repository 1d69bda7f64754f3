import type { Actor } from "../core/app.ts";
import { META_SUBSCRIPTION } from "./headers.ts";
import type { Exchange } from "./exchange.ts";
import type { Listener, ListName } from "./listeners.ts";
import { findResource } from "./resources.ts";
import { CODES, isObject, type Params, RpcError } from "./rpc.ts";
import type { Server } from "./server.ts";
import { mayCall } from "./tools.ts";

const SUBSCRIPTIONS_MAX = 100;
const LISTS: readonly ListName[] = ["tools", "prompts", "resources"];

/** True when a caller may read what an address shows. */
export function mayRead({ tools, fixtures }: Server, actor: Actor, uri: string): boolean {
  const found = findResource(uri);
  if (found === null) return fixtures?.read(uri) != null;
  return mayCall(actor, tools.get(found.resource.tool)!.route);
}

/**
 * `subscriptions/listen`: acknowledges what will be told, then tells it until the client goes, its credential
 * ends, or the relay stops.
 * @throws {RpcError} invalidParams, and {Fault} RATE_LIMIT_EXCEEDED
 */
export function listen(exchange: Exchange, stream: Pick<Listener, "notify" | "end">): () => void {
  const { server, params, id, actor, identifyAgain } = exchange;
  const wanted = isObject(params.notifications) ? params.notifications : {};
  const uris = wanted.resourceSubscriptions ?? [];
  if (!Array.isArray(uris) || uris.length > SUBSCRIPTIONS_MAX) {
    const why =
      `\`resourceSubscriptions\` must be a list of at most ${SUBSCRIPTIONS_MAX} addresses.`;
    throw new RpcError(CODES.invalidParams, why);
  }
  const lists = new Set(LISTS.filter((list) => wanted[`${list}ListChanged`] === true));
  const readable = new Set(
    uris.filter((uri): uri is string => typeof uri === "string" && mayRead(server, actor, uri)),
  );
  const tag = (given: Params) => ({ ...given, _meta: { [META_SUBSCRIPTION]: id } });
  const notify = (method: string, given: Params) => stream.notify(method, tag(given));
  const stop = server.listeners.add({
    actor,
    identifyAgain,
    wantsResource: (now, uri) => readable.has(uri) && mayRead(server, now, uri),
    wantsList: (list) => lists.has(list),
    notify,
    end: stream.end,
  });
  const honoured = {
    ...Object.fromEntries([...lists].map((list) => [`${list}ListChanged`, true])),
    ...(readable.size > 0 && { resourceSubscriptions: [...readable] }),
  };
  notify("notifications/subscriptions/acknowledged", { notifications: honoured });
  return stop;
}
