import { eventJson, OWN_EVENTS } from "../../core/events/emit.ts";
import { historyOf, idOf } from "../../core/events/streams/message.ts";
import { EVENT_RIGHTS } from "../../core/events/streams/rights.ts";
import type { WebhookEventType } from "../../core/events/types/webhook_events.ts";
import { mount } from "../../routes/http/mount.ts";
import { BATCHES_PROTOCOL } from "../../routes/http/protocols.ts";
import { routes, upgrades } from "../../routes/index.ts";
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

/** A message of a socket. */
interface SocketMessage {
  readonly type: string;
  readonly id: string | null;
  readonly command_id?: string;
  // deno-lint-ignore no-explicit-any -- tests look into messages of every shape
  readonly data: any;
}

/** A `/ws` socket, read under the test's control. */
export interface SocketClient {
  readonly socket: WebSocket;
  next(): Promise<SocketMessage>;
  readonly closed: Promise<CloseEvent>;
  send(frame: unknown): void;
}

/** Opens `/ws` on a server of its own. `headers` and `protocols` may depend on the server's origin. */
export async function withSocket(
  world: World,
  { as, headers, protocols = [] }: {
    readonly as?: string;
    readonly headers?: (origin: string) => Promise<Record<string, string>>;
    readonly protocols?: string[];
  },
  use: (client: SocketClient) => Promise<void>,
): Promise<void> {
  const serve = mount(world.app, routes, upgrades);
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, serve);
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const socket = new WebSocket(`${origin.replace("http", "ws")}/ws`, {
    headers: {
      ...(as !== undefined && { authorization: `Bearer ${as}` }),
      ...await headers?.(origin),
    },
    protocols,
  });
  const messages = new ReadableStream<SocketMessage>({
    start: (controller) => {
      socket.onmessage = ({ data }) => {
        const lines = socket.protocol === BATCHES_PROTOCOL ? data.split("\n") : [data];
        for (const line of lines) controller.enqueue(JSON.parse(line));
      };
    },
  }).getReader();
  const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
  await Promise.race([new Promise((resolve) => socket.onopen = resolve), closed]);
  await use({
    socket,
    next: async () => (await messages.read()).value!,
    closed,
    send: (frame) => socket.send(JSON.stringify(frame)),
  });
  socket.close();
  await closed;
}
