import { deepStrictEqual as deq, rejects, strictEqual as eq } from "node:assert/strict";
import { createClient, RelayError, type StreamEvent } from "../../core/client/client.ts";
import { mulberry32 } from "../support/random.ts";
import { recordedPlatform, refusal, scriptedFetch } from "./fixtures.ts";

const SEED = Number(Deno.env.get("RELAY_SSE_SEED") ?? Date.now() % 100_000);

const event = (n: number) => `event: event\nid: h:${n}\ndata: ${JSON.stringify({ n })}\n\n`;
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** A body that delivers these pieces, and then ends or is lost. */
function bodyOf(pieces: readonly Uint8Array<ArrayBuffer>[], loses: boolean): Response {
  const waiting = [...pieces];
  return new Response(
    new ReadableStream({
      pull(controller) {
        const piece = waiting.shift();
        if (piece !== undefined) controller.enqueue(piece);
        else if (loses) controller.error(new TypeError("connection reset"));
        else controller.close();
      },
    }, { highWaterMark: 0 }),
  );
}

const whole = (text: string, loses = false) => bodyOf([new TextEncoder().encode(text)], loses);

function follow(steps: readonly (Response | Error)[], lastEventId?: string, signal?: AbortSignal) {
  const { fetch, sent } = scriptedFetch(steps);
  const platform = recordedPlatform();
  const relay = createClient({ url: "https://r.example", fetch, platform });
  return { events: relay.stream("events.stream", { lastEventId, signal }), sent, platform };
}

async function take(events: AsyncIterable<StreamEvent>, count: number): Promise<unknown[]> {
  const taken: unknown[] = [];
  for await (const { data } of events) {
    taken.push((data as { n: number }).n);
    if (taken.length === count) break;
  }
  return taken;
}

Deno.test(`client.stream: 500 events in random pieces over random losses come once, in order (seed ${SEED})`, async () => {
  const random = mulberry32(SEED);
  const TOTAL = 500;
  const sent: (string | null)[] = [];
  const platform = recordedPlatform(SEED);
  const relay = createClient({
    url: "https://r.example",
    platform,
    fetch: (_url, init) => {
      const after = new Headers(init?.headers).get("last-event-id");
      sent.push(after);
      const from = after === null ? 1 : Number(after.split(":")[1]) + 1;
      const to = Math.min(TOTAL, from + 1 + Math.floor(random() * 60));
      const text = numbers(from, to).map(event).join("") + event(to + 1).slice(0, 9);
      const bytes = new TextEncoder().encode(`:é\r\n${text}`);
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      for (let at = 0; at < bytes.length;) {
        const size = 1 + Math.floor(random() * 40);
        pieces.push(bytes.slice(at, at += size));
      }
      return Promise.resolve(bodyOf(pieces, random() < 0.5));
    },
  });
  deq(await take(relay.stream("events.stream"), TOTAL), numbers(1, TOTAL));
  eq(sent[0], null);
  eq(sent.length > 5, true);
});

Deno.test("client.stream: the delay that the relay asks for is kept before it resumes", async () => {
  const end = 'retry: 4321\nevent: end\ndata: {"name":"going_away","then":"resume"}\n\n';
  const { events, platform, sent } = follow([whole(event(1) + end), whole(event(2))], "h:0");
  deq(await take(events, 3), [1, undefined, 2]);
  deq(platform.slept, [4321]);
  deq(sent.map(({ headers }) => headers.get("last-event-id")), ["h:0", "h:1"]);
});

Deno.test("client.stream: an end for good and a refusal reject, and are not retried", async () => {
  const end =
    'event: end\ndata: {"name":"rights_lost","then":"ask for rights","message":"No."}\n\n';
  const lost = follow([whole(event(1) + end)]);
  await rejects(take(lost.events, 5), {
    code: "STREAM_ENDED",
    message: "No. To go on: ask for rights.",
  });
  const refused = follow([refusal(403, "INSUFFICIENT_SCOPES")]);
  await rejects(take(refused.events, 1), { code: "INSUFFICIENT_SCOPES", status: 403 });
  eq(refused.sent.length, 1);
});

Deno.test("client.stream: goes on with a renewed credential, and ends when there is none", async () => {
  const end =
    'event: end\ndata: {"name":"credential_ended","then":"sign in again","message":"No."}\n\n';
  const begin = (token: string | (() => Promise<string>)) => {
    const { fetch, sent } = scriptedFetch([
      whole(event(1) + end),
      whole(event(2) + end),
      refusal(401, "INVALID_TOKEN"),
    ]);
    const platform = recordedPlatform();
    const relay = createClient({ url: "https://r.example", fetch, platform, token });
    return { events: relay.stream("events.stream"), sent };
  };
  let tokens = 0;
  const renewed = begin(() => Promise.resolve(`t${++tokens}`));
  const seen: unknown[] = [];
  const read = async () => {
    for await (const { event, data } of renewed.events) {
      if (event === "event") seen.push((data as { n: number }).n);
    }
  };
  await rejects(read(), { status: 401, code: "INVALID_TOKEN" });
  deq([seen, renewed.sent.map(({ headers }) => headers.get("authorization"))], [
    [1, 2],
    ["Bearer t1", "Bearer t2", "Bearer t3"],
  ]);
  await rejects(take(begin("t").events, 2), { code: "STREAM_ENDED" });
});

Deno.test("client.stream: ten failures in a row end it, an event starts the count anew", async () => {
  const down = Array.from({ length: 9 }, () => new TypeError("refused"));
  const { events, sent } = follow([...down, whole(event(1)), ...down, new TypeError("refused")]);
  await rejects(take(events, 2), { code: "UNREACHED" });
  eq(sent.length, 19);
});

Deno.test("client.stream: an abort ends it without an error, while it waits and while it reads", async () => {
  const controller = new AbortController();
  const hanging = new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
  const { events } = follow([hanging], undefined, controller.signal);
  const taken = take(events, 1);
  controller.abort();
  deq(await taken, []);
  deq(await take(follow([], undefined, AbortSignal.abort()).events, 1), []);
});

Deno.test("client.stream: an event without an end is cut at a bound", async () => {
  const piece = new TextEncoder().encode("x".repeat(1024 * 1024));
  const { events } = follow([bodyOf(Array.from({ length: 64 }, () => piece), false)]);
  const error = await take(events, 1).catch((error) => error);
  eq(error instanceof RelayError && error.code, "UNREADABLE");
});

Deno.test("client.stream: a relay that does not answer at all is asked again", async () => {
  const asked: AbortSignal[] = [];
  let silences = 0;
  const platform = recordedPlatform();
  const relay = createClient({
    url: "https://r.example",
    platform: {
      ...platform,
      sleep: (ms, signal) =>
        ms === 60_000 && silences++ === 0 ? Promise.resolve() : platform.sleep(ms, signal),
    },
    fetch: (_url, init) => {
      asked.push(init!.signal!);
      return asked.length === 1 ? new Promise(() => {}) : Promise.resolve(whole(event(1)));
    },
  });
  deq(await take(relay.stream("events.stream"), 1), [1]);
  deq(asked.map(({ aborted }) => aborted), [true, true]);
});
