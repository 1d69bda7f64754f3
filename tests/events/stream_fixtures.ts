import { eventJson, OWN_EVENTS } from "../../core/events/emit.ts";
import { historyOf, idOf } from "../../core/events/streams/message.ts";
import { EVENT_RIGHTS } from "../../core/events/streams/rights.ts";
import type { WebhookEventType } from "../../core/events/types/webhook_events.ts";
import type { Received, StreamClient } from "../support/stream.ts";
import type { Account, World } from "../support/world.ts";

/** Every right that gives access to some events. */
export const READ = [...EVENT_RIGHTS];

/** Appends an event to an organization's log. */
export async function happen(
  world: World,
  { org, userId }: Account,
  type: WebhookEventType | "api_key_used",
  agentId?: string,
  details: Readonly<Record<string, unknown>> = OWN_EVENTS[type]!.example,
): Promise<void> {
  const tenant = { org, space: "live" } as const;
  const work = { ...world.app, actor: { id: userId } };
  const resource = { type: "endpoint", id: "t_1" } as const;
  const json = eventJson(work, tenant, { type, resource, ...(agentId && { agentId }), details });
  await world.app.store.append(tenant, type, json);
}

/** The id of a position in an organization's log. */
export const placeIn = (
  { app }: World,
  { org }: Account,
  seq: number,
  space: "live" | "test" = "live",
): string => idOf(historyOf(app.epoch, { org, space }), seq);

export const typesOf = (events: readonly (Received | null)[]) =>
  events.map((event) => event?.data.event_type);

/** The next `n` events of a stream, once they are sequenced. */
export async function take(world: World, client: StreamClient, n: number): Promise<Received[]> {
  await world.app.log.flush();
  const events: Received[] = [];
  while (events.length < n) {
    const event = await client.next();
    if (event === null) break;
    events.push(event);
  }
  return events;
}
