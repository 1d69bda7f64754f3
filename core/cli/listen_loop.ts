import { printableLine } from "./printable_line.ts";
import { type PulledEvent, signDelivery } from "../delivery/delivery.ts";
import { whyUnreached } from "./client.ts";

/** The options of `relay listen`. */
export interface ListenOptions {
  /** The relay. */
  readonly url: string;
  /** An API key that may read the events. */
  readonly token: string;
  /** The local address that receives the events. */
  readonly forward: string;
  /** The secret that signs them. */
  readonly secret: string;
  /** Event types, separated by commas; null for all that the key may read. */
  readonly types: string | null;
  /** The sequence number to begin after; null for new events only. */
  readonly since: number | null;
}

/** The network, clock and output that it uses. */
export interface ListenHost {
  request(url: string, init: RequestInit): Promise<Response>;
  now(): number;
  sleep(ms: number): Promise<void>;
  say(line: string): void;
}

/** The interval of requests while there are no new events. */
const POLL_MS = 1_000;
const TROUBLE_MS = 3_000;
const FORWARD_MS_MAX = 10_000;
const ASK_MS_MAX = 30_000;
/** Statuses that a retry would not change. */
const REFUSED = [400, 401, 403, 404];
/** The status when the relay's log does not continue after the last event seen. */
const GONE = 410;

interface Page {
  readonly events: readonly PulledEvent[];
  readonly next: number;
  readonly head: number;
  readonly has_more: boolean;
}

/**
 * Follows the relay's events and sends each once to a local address, in order, signed like a webhook. Ends when the
 * signal is aborted, or resolves to a sentence when the relay refuses.
 */
export async function listenLoop(
  options: ListenOptions,
  host: ListenHost,
  signal: AbortSignal,
): Promise<string | null> {
  let since = options.since, troubled = false;
  while (!signal.aborted) {
    let page: Page;
    try {
      const answer = await ask(options, host, since ?? 0, since === null ? 1 : 200);
      if (typeof answer === "string") return answer;
      page = answer;
    } catch (error) {
      if (!troubled) host.say(`the relay cannot be reached, trying again: ${whyUnreached(error)}`);
      troubled = true;
      await host.sleep(TROUBLE_MS);
      continue;
    }
    if (troubled) host.say("the relay answers again");
    troubled = false;
    if (since === null) {
      since = page.head;
      continue;
    }
    for (const event of page.events) {
      if (signal.aborted) return null;
      await forward(options, host, event);
    }
    since = page.next;
    if (!page.has_more) await host.sleep(POLL_MS);
  }
  return null;
}

/** The next events, or why there are none. */
async function ask(
  { url, token, types }: ListenOptions,
  host: ListenHost,
  since: number,
  limit: number,
): Promise<Page | string> {
  const query = new URLSearchParams({ since: `${since}`, limit: `${limit}` });
  if (types !== null) query.set("types", types);
  const response = await host.request(`${url.replace(/\/$/, "")}/api/v1/events?${query}`, {
    headers: { authorization: `Bearer ${token}` },
    redirect: "manual",
    signal: AbortSignal.timeout(ASK_MS_MAX),
  });
  const text = await response.text();
  if (response.status === 200) return JSON.parse(text) as Page;
  if (response.status === GONE) {
    const { message, details: { head, next } } = JSON.parse(text).error;
    host.say(printableLine(`events are missing: ${message}`));
    return { events: [], next, head, has_more: true };
  }
  const why = messageOf(text) ?? `status ${response.status}`;
  if (REFUSED.includes(response.status)) return `the relay refused: ${why}`;
  throw new Error(why);
}

async function forward(
  options: ListenOptions,
  host: ListenHost,
  { seq, payload, ...envelope }: PulledEvent,
): Promise<void> {
  // The same id for the same event, so that the receiver recognizes repetitions after a restart.
  const deliveryId = `dlv_${envelope.event_id}`;
  const body = JSON.stringify({ ...envelope, delivery_id: deliveryId, payload });
  const headers = signDelivery({
    body,
    secret: options.secret,
    deliveryId,
    timestampMs: host.now(),
    eventType: envelope.event_type,
    eventTimestamp: envelope.timestamp,
  });
  const startedMs = host.now();
  let result: string;
  try {
    const response = await host.request(options.forward, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(FORWARD_MS_MAX),
    });
    await response.body?.cancel();
    result = `${response.status}`;
  } catch (error) {
    result = whyUnreached(error);
  }
  const tookMs = host.now() - startedMs;
  const { timestamp, event_type } = envelope;
  host.say(printableLine(`${timestamp}  ${seq}  ${event_type}  → ${result} (${tookMs} ms)`));
}

function messageOf(text: string): string | null {
  try {
    return printableLine(JSON.parse(text).error.message);
  } catch {
    return null;
  }
}
