import { lines, start } from "../parts.ts";
import type { Loaded } from "../target.ts";
import { wallMs } from "../wall.ts";

/** Where events are made and read. */
export interface Publisher {
  readonly port: number;
  readonly key: string;
  /** Makes so many events at once. */
  readonly publish: (events: number) => Promise<unknown>;
}

/** WebSockets that all read the same events. */
export interface Readers {
  /** Makes so many events at once. Resolves when all readers have all of them, in messages a second. */
  burst(events: number): Promise<number>;
  /** Makes an event. Resolves when all readers have it, in ms since its caller was told that it is in the log. */
  single(): Promise<number>;
  end(): void;
}

/** The subprotocols of streams of events; `batches` may put several messages into a frame. */
export const [PLAIN, BATCHES] = ["relay.events.v1", "relay.events.batches.v1"] as const;
const TYPE = "agent_created";
const BODY = JSON.stringify({ type: TYPE, id: "e1", pad: "x".repeat(200) });

/** An organization whose events become durable before their callers are answered. */
export function publisherOf({ base, port, key }: Loaded): Publisher {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const one = () => post(`${base}/bench/events`, { headers, body: BODY });
  return { port, key, publish: (events) => Promise.all(Array.from({ length: events }, one)) };
}

/** A server that only sends. */
export async function bareFanOut(batched: boolean): Promise<Publisher> {
  const { ready: { port } } = await start<{ port: number }>("streams/bare_fan_out.ts", [
    `${batched}`,
  ]);
  const url = `http://127.0.0.1:${port}/burst?events=`;
  return { port, key: "none", publish: (events) => post(`${url}${events}`) };
}

async function post(url: string, init: RequestInit = {}): Promise<void> {
  const answer = await fetch(url, { method: "POST", ...init });
  if (answer.status !== 204) throw new Error(await answer.text());
}

/** Opens so many readers. */
export async function openReaders(
  { port, key, publish }: Publisher,
  count: number,
  protocol: string,
): Promise<Readers> {
  const args = [`${port}`, key, `${count}`, protocol, `?types=${TYPE}`];
  const readers = await start("streams/socket_subscribers.ts", args);
  const had = lines<{ n: number; atMs: number }>(readers);
  let made = 0;
  const last = async () => {
    for (;;) {
      const { value } = await had.next();
      if (value === undefined) throw new Error("the readers have ended");
      if (value.n === made) return value.atMs;
    }
  };
  return {
    async burst(events) {
      const startedMs = wallMs();
      made += events;
      await publish(events);
      return events * count / (await last() - startedMs) * 1000;
    },
    async single() {
      made++;
      await publish(1);
      const madeMs = wallMs();
      return await last() - madeMs;
    },
    end: () => readers.child.kill("SIGKILL"),
  };
}
