import { type Client, type PulledEvent, RelayError } from "../../../client/client.ts";
import { signDelivery } from "../../../delivery/delivery.ts";
import { whyUnreached } from "../../unreached.ts";

/** The options of `relay listen`. */
export interface ListenOptions {
  /** The relay, with a credential that may read the events. */
  readonly relay: Pick<Client, "call">;
  /** The local address that receives the events. */
  readonly forward: string;
  /** The secret that signs them. */
  readonly secret: string;
  /** Event types, separated by commas; undefined for all that the credential may read. */
  readonly types: string | undefined;
  /** The sequence number to begin after; null for new events only. */
  readonly since: number | null;
}

/** An event that was sent on. */
interface Forwarded {
  readonly seq: number;
  readonly event_id: string;
  readonly event_type: string;
  /** The status of the answer; null without one. */
  readonly http_status: number | null;
  /** Why there was no answer. */
  readonly error: string | null;
  readonly response_time_ms: number;
}

/** The network, clock and output that it uses. */
export interface ListenHost {
  readonly fetch: typeof fetch;
  now(): number;
  sleep(ms: number): Promise<void>;
  forwarded(answer: Forwarded, line: string): Promise<void>;
  note(line: string): Promise<void>;
}

/** The interval of requests while there are no new events. */
const POLL_MS = 1_000;
const TROUBLE_MS = 3_000;
const FORWARD_MS_MAX = 10_000;
const PAGE = 200;

/**
 * Follows the relay's events and sends each once to a local address, in order, signed like a webhook. Ends when the
 * signal is aborted.
 * @throws {RelayError} when the relay refuses
 */
export async function listenLoop(
  options: ListenOptions,
  host: ListenHost,
  signal: AbortSignal,
): Promise<void> {
  let since = options.since, troubled = false;
  while (!signal.aborted) {
    const page = await nextPage(options, host, since, signal).catch(async (error) => {
      if (signal.aborted) return null;
      if (!isPassing(error)) throw error;
      if (!troubled) await host.note(`No answer, trying again: ${error.message}`);
      troubled = true;
      await host.sleep(TROUBLE_MS);
      return null;
    });
    if (page === null) continue;
    if (troubled) await host.note("The relay answers again.");
    troubled = false;
    if (since === null) {
      since = page.head;
      continue;
    }
    for (const event of page.events) {
      if (signal.aborted) return;
      await forward(options, host, event);
    }
    since = page.next;
    if (!page.has_more) await host.sleep(POLL_MS);
  }
}

/** The next events; none after a gap in the log, which is told. @throws {RelayError} */
async function nextPage(
  { relay, types }: ListenOptions,
  host: ListenHost,
  since: number | null,
  signal: AbortSignal,
) {
  const limit = since === null ? 1 : PAGE;
  try {
    return await relay.call("events.pull", { query: { since: since ?? 0, limit, types }, signal });
  } catch (error) {
    if (!(error instanceof RelayError) || error.code !== "GONE") throw error;
    const { head, next } = error.details as { readonly head: number; readonly next: number };
    await host.note(`Events are missing: ${error.message}`);
    return { events: [], next, head, has_more: true };
  }
}

/** True for a failure that a later request may not meet. */
const isPassing = (error: unknown): error is RelayError =>
  error instanceof RelayError &&
  (error.status === 0 || error.status === 429 || error.status >= 500);

async function forward(
  { forward, secret }: ListenOptions,
  host: ListenHost,
  { seq, payload, ...envelope }: PulledEvent,
): Promise<void> {
  const { event_id, event_type, timestamp } = envelope;
  // The same id for the same event, so that the receiver recognizes repetitions after a restart.
  const deliveryId = `dlv_${event_id}`;
  const body = JSON.stringify({ ...envelope, delivery_id: deliveryId, payload });
  const headers = signDelivery({
    body,
    secret,
    deliveryId,
    timestampMs: host.now(),
    eventType: event_type,
    eventTimestamp: timestamp,
  });
  const startedMs = host.now();
  let http_status: number | null = null, error: string | null = null;
  try {
    const response = await host.fetch(forward, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(FORWARD_MS_MAX),
    });
    await response.body?.cancel();
    http_status = response.status;
  } catch (cause) {
    error = whyUnreached(cause);
  }
  const response_time_ms = host.now() - startedMs;
  const result = `${http_status ?? error} (${response_time_ms} ms)`;
  await host.forwarded(
    { seq, event_id, event_type, http_status, error, response_time_ms },
    `${timestamp}  ${seq}  ${event_type}  → ${result}`,
  );
}
