import type { Actor } from "../core/work/work.ts";
import { META_SUBSCRIPTION } from "./headers.ts";
import { type Exchange, mustExtend } from "./exchange.ts";
import type { Listener, ListName } from "./listeners.ts";
import { findResource } from "./resources.ts";
import { CODES, isObject, type Params, RpcError } from "./rpc.ts";
import type { Server } from "./exchange.ts";
import { stateToTell, TASKS } from "./tasks.ts";
import { mayCall } from "./tools.ts";

const SUBSCRIPTIONS_MAX = 100;
const ID = /^\w{1,64}$/;
const LISTS: readonly ListName[] = ["tools", "prompts", "resources"];

/** True when a caller may read what an address shows. */
export function mayRead({ tools, extension }: Server, actor: Actor, uri: string): boolean {
  const found = findResource(uri);
  if (found === null) return extension?.read(uri) != null;
  return mayCall(actor, tools.get(found.resource.tool)!.route);
}

/**
 * `subscriptions/listen`: acknowledges what will be told, then tells it until the client goes, its credential
 * ends, or the relay stops.
 * @throws {RpcError} invalidParams, missingCapability, and {Fault} RATE_LIMIT_EXCEEDED
 */
export async function listen(
  exchange: Exchange,
  stream: Pick<Listener, "notify" | "end">,
): Promise<() => void> {
  const { server, params, id, actor, identifyAgain } = exchange;
  const wanted = isObject(params.notifications) ? params.notifications : {};
  const uris = textsIn(wanted, "resourceSubscriptions");
  const taskIds = textsIn(wanted, "taskIds");
  if (taskIds.length > 0) mustExtend(exchange, TASKS);
  const lists = new Set(LISTS.filter((list) => wanted[`${list}ListChanged`] === true));
  const readable = new Set(uris.filter((uri) => mayRead(server, actor, uri)));
  const tag = (given: Params) => ({ ...given, _meta: { [META_SUBSCRIPTION]: id } });
  const notify = (method: string, given: Params) => stream.notify(method, tag(given));
  const tasks = await followTasks(exchange, taskIds);
  const listener: Listener = {
    actor,
    session: null,
    identifyAgain,
    wantsResource: (now, uri) => readable.has(uri) && mayRead(server, now, uri),
    wantsList: (list) => lists.has(list),
    tellTask: tasks.size === 0 ? null : (id) => {
      const told = tasks.get(id);
      if (told !== undefined) told.turn = told.turn.then(() => tellTask(id, told));
    },
    notify,
    end: stream.end,
  };
  const tellTask = async (id: string, told: Told) => {
    const state = await stateToTell({ ...exchange, actor: listener.actor }, id).catch(() => null);
    if (state === null || state === told.state) return;
    told.state = state;
    if (!notify("notifications/tasks", JSON.parse(state))) stream.end();
  };
  const honoured = {
    ...Object.fromEntries([...lists].map((list) => [`${list}ListChanged`, true])),
    ...(readable.size > 0 && { resourceSubscriptions: [...readable] }),
    ...(tasks.size > 0 && { taskIds: [...tasks.keys()] }),
  };
  const stop = await server.listeners.add(
    listener,
    () => notify("notifications/subscriptions/acknowledged", { notifications: honoured }),
  );
  // What happened to a task since it was looked at.
  for (const id of tasks.keys()) listener.tellTask?.(id);
  return stop;
}

/** How a task was when its client was last told. */
interface Told {
  state: string;
  turn: Promise<void>;
}

/** Those of the tasks that are the caller's, as they stand. */
async function followTasks(exchange: Exchange, ids: readonly string[]): Promise<Map<string, Told>> {
  const tasks = new Map<string, Told>();
  for (const id of new Set(ids)) {
    const state = ID.test(id) ? await stateToTell(exchange, id) : null;
    if (state !== null) tasks.set(id, { state, turn: Promise.resolve() });
  }
  return tasks;
}

/** @throws {RpcError} invalidParams */
function textsIn(wanted: Params, name: string): string[] {
  const texts = wanted[name] ?? [];
  if (Array.isArray(texts) && texts.length <= SUBSCRIPTIONS_MAX) {
    return texts.filter((text): text is string => typeof text === "string");
  }
  throw new RpcError(
    CODES.invalidParams,
    `\`${name}\` must be a list of at most ${SUBSCRIPTIONS_MAX} texts.`,
  );
}
