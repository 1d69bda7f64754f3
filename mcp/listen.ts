import type { Exchange } from "./exchange.ts";
import { CODES, isObject, type Params, RpcError } from "./json_rpc.ts";
import type { Listener, ListName } from "./listeners.ts";
import { mustExtend } from "./params.ts";
import { mayRead } from "./resources.ts";
import { META_SUBSCRIPTION } from "./revision.ts";
import { TASKS, taskStateOrNull } from "./tasks.ts";

const SUBSCRIPTIONS_MAX = 100;
const ID = /^\w{1,64}$/;
const LISTS: readonly ListName[] = ["tools", "prompts", "resources"];

/**
 * `subscriptions/listen`: acknowledges the subscriptions, then notifies until the client leaves, its
 * credential ends, or the relay stops. Returns how to stop it.
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
    taskChanged: tasks.size === 0 ? null : (id) => {
      const task = tasks.get(id);
      if (task !== undefined) task.turn = task.turn.then(() => notifyTask(id, task));
    },
    notify,
    end: stream.end,
  };
  const notifyTask = async (id: string, task: FollowedTask) => {
    const now = { ...exchange, actor: listener.actor };
    const state = await taskStateOrNull(now, id).catch(() => null);
    if (state === null || state === task.sentState) return;
    task.sentState = state;
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
  // A task may have changed since its state was read.
  for (const id of tasks.keys()) listener.taskChanged?.(id);
  return stop;
}

interface FollowedTask {
  /** The state that the client knows, as JSON. */
  sentState: string;
  /** Notifications of one task go out one after another. */
  turn: Promise<void>;
}

/** The caller's tasks among these ids, with their states. */
async function followTasks(
  exchange: Exchange,
  ids: readonly string[],
): Promise<Map<string, FollowedTask>> {
  const tasks = new Map<string, FollowedTask>();
  for (const id of new Set(ids)) {
    const state = ID.test(id) ? await taskStateOrNull(exchange, id) : null;
    if (state !== null) tasks.set(id, { sentState: state, turn: Promise.resolve() });
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
    `\`${name}\` must be a list of at most ${SUBSCRIPTIONS_MAX} strings.`,
  );
}
