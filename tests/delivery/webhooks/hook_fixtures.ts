import { eventJson, RELAY_ACTOR } from "../../../core/events/events.ts";
import type { OutboundResponse } from "../../../core/ports/ports.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type WebhookRecord, webhooks } from "../../../kv/records/webhook.ts";
import type { Account, World } from "../../support/world.ts";
import { UNTIMED } from "../../support/network.ts";
import { deliveriesOf, makeHook } from "../../support/linked_agent.ts";

export const HOOKS = "/api/v1/webhooks";

export const liveOf = ({ org }: Pick<Account, "org">): Tenant => ({ org, space: "live" });

/** The event that the webhooks of `hear` subscribe to, as JSON of the log. */
export const eventOf = (world: World, owner: Account, name = "one") =>
  eventJson({ ...world.app, actor: RELAY_ACTOR }, liveOf(owner), {
    resource: { type: "agent", id: "agt_1" },
    details: { name, reason: "link_closed" },
    type: "agent_disconnected",
  });

/** Lets it happen. */
export async function happen(world: World, owner: Account, name?: string): Promise<void> {
  await world.app.store.append(liveOf(owner), "agent_disconnected", eventOf(world, owner, name));
}

/** Creates a webhook that subscribes to it. */
export const hear = (world: World, owner: Account, more: Record<string, unknown> = {}) =>
  makeHook(world, owner, ["agent_disconnected"], more);

/** Changes a record behind the relay's back. */
export async function alter(
  world: World,
  owner: Account,
  id: string,
  more: Partial<WebhookRecord>,
): Promise<void> {
  await world.app.store.transact(async (tx) => {
    const webhook = await tx.get(webhooks, liveOf(owner), id);
    tx.put(webhooks, liveOf(owner), { ...webhook!, ...more });
  });
}

/**
 * Lets a process whose commits fail come as far as it can. It cannot settle, because that would need commits for
 * the log.
 */
export async function letDie(world: World): Promise<void> {
  await Promise.allSettled([world.settle()]);
}

/** The newest delivery of a webhook. */
export async function newest(world: World, owner: Account, id: string) {
  return (await deliveriesOf(world, owner, id, "?limit=1")).deliveries[0];
}

/** Answers everything with this status and these headers. */
export function answering(
  world: World,
  status: number,
  headers: Record<string, string> = {},
): void {
  world.network.request = (request) => {
    world.network.sent.push(request);
    return Promise.resolve(responding(status, headers));
  };
}

/** The answer of a receiver. */
export const responding = (
  status: number,
  headers: Record<string, string> = {},
): OutboundResponse => ({
  status,
  headers,
  bytes: new Uint8Array(),
  body: "",
  truncated: false,
  timing: UNTIMED,
});

/** Posts an action of a webhook, such as `enable`; answers the body. */
export async function act(
  world: World,
  { token }: Pick<Account, "token">,
  id: string,
  action: string,
  body: Record<string, unknown> = {},
) {
  const answer = await world.call("POST", `${HOOKS}/${id}/${action}`, { as: token, body });
  if (answer.status >= 300) throw new Error(`${action} answered ${answer.text}`);
  return answer.body;
}

/** The names in the events that were sent, in order. */
export const namesSent = (world: World): string[] =>
  world.network.sent.map(({ body }) => JSON.parse(String(body)).payload.name);
