import { setImmediate } from "node:timers";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { z } from "zod";
import { Fault } from "../../core/fault/fault.ts";
import { mount } from "../../routes/http/mount.ts";
import { type Route, route } from "../../routes/call/route.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { type Random, random } from "../support/random.ts";
import { StreamClient } from "../support/stream.ts";
import { World } from "../support/world.ts";

const seed = Number(
  Deno.env.get("RELAY_CONNECTIONS_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
console.log(`connections: RELAY_CONNECTIONS_SEED=${seed}`);

const configWith = (live: Record<string, unknown>) => ({
  ...NO_LIMITS,
  limits: { ...NO_LIMITS.limits, live: { ...NO_LIMITS.limits.live, ...live } },
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Routes that end in every way that a request can. */
function routesThatEnd(gate: () => Promise<void>): Route[] {
  const common = {
    method: "GET",
    summary: "a sample",
    access: { signedIn: true },
    effect: "read",
    faults: ["CONFLICT"],
  } as const;
  const json = { status: 200, body: z.object({ ok: z.boolean() }) } as const;
  const text = { status: 200, content: ["text/plain"] } as const;
  const stream = (body: AsyncIterable<string>) => ({ type: "text/plain", body });
  async function* lines(last: () => void = () => {}) {
    for (let n = 0; n < 3; n++) yield "a line\n";
    last();
  }
  const fails = () => {
    throw new Error("a stream breaks");
  };
  return [
    route({
      ...common,
      id: "x.plain",
      path: "/x/plain",
      success: json,
      handle: () => ({ ok: true }),
    }),
    route({
      ...common,
      id: "x.slow",
      path: "/x/slow",
      success: json,
      handle: async () => {
        await gate();
        return { ok: true };
      },
    }),
    route({
      ...common,
      id: "x.fault",
      path: "/x/fault",
      success: json,
      handle: () => {
        throw new Fault("CONFLICT");
      },
    }),
    route({
      ...common,
      id: "x.bug",
      path: "/x/bug",
      success: json,
      handle: () => {
        throw new Error("a bug");
      },
    }),
    route({
      ...common,
      id: "x.bad_answer",
      path: "/x/bad-answer",
      success: text,
      // A header that no response can have: the stream is made, and never read.
      handle: () => ({ ...stream(lines()), headers: { "x-bad": "a\nb" } }),
    }),
    route({
      ...common,
      id: "x.text",
      path: "/x/text",
      success: text,
      handle: () => ({ type: "text/plain", body: "a text" }),
    }),
    route({
      ...common,
      id: "x.stream",
      path: "/x/stream",
      success: text,
      handle: () => stream(lines()),
    }),
    route({
      ...common,
      id: "x.broken",
      path: "/x/broken",
      success: text,
      handle: () => stream(lines(fails)),
    }),
  ];
}

const STREAMS = ["/x/stream", "/x/broken"];
const OTHERS = ["/x/plain", "/x/fault", "/x/bug", "/x/bad-answer", "/x/text", "/x/plain?bad=1"];

/** A client that opens, reads, leaves and waits as chance has it; it knows how many it has open. */
async function play(dice: Random, sole: boolean): Promise<void> {
  const limit = 1 + dice.below(4);
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ config: configWith({ max_concurrent: limit }), sole, kv });
  const key = await world.key(await world.signUp(), ["agents:read"]);
  const gates: (() => void)[] = [];
  const gate = () => new Promise<void>((resolve) => gates.push(resolve));
  const serve = mount(world.app, routesThatEnd(gate), []);
  const ask = async (path: string, method = "GET") => {
    const headers = { "x-api-key": key.value };
    const answer = serve(new Request(`http://localhost${path}`, { method, headers }));
    let waiting = true;
    Promise.resolve(answer).finally(() => waiting = false);
    while (waiting && (slow !== null || gates.length === 0)) {
      if (!sole) world.clock.advance(5);
      await turn();
    }
    return { answer, waiting };
  };
  const streams: ReadableStreamDefaultReader<Uint8Array>[] = [];
  let slow: Promise<Response> | null = null;
  const held = () => streams.length + (slow === null ? 0 : 1);
  const judge = async (response: Response, wanted: (status: number) => boolean) => {
    const full = held() >= limit;
    ok(full ? response.status === 429 : wanted(response.status), `seed ${dice.seed}`);
    if (!full) return true;
    const { error } = await response.json();
    deq([error.code, error.details.scope], ["RATE_LIMIT_EXCEEDED", "connections"]);
    eq(response.headers.get("retry-after"), "1");
    return false;
  };
  const moves = [
    async () => {
      const { answer } = await ask(dice.pick(STREAMS));
      const response = await answer;
      if (await judge(response, (status) => status === 200)) {
        streams.push(response.body!.getReader());
      }
    },
    async () => {
      const response = await (await ask(dice.pick(OTHERS))).answer;
      if (await judge(response, (status) => status !== 429)) await response.text();
    },
    async () => {
      const head = await (await ask(dice.pick([...STREAMS, ...OTHERS]), "HEAD")).answer;
      eq(head.status === 429, held() >= limit, `seed ${dice.seed}`);
    },
    async () => {
      if (slow !== null) return;
      const { answer, waiting } = await ask("/x/slow");
      if (waiting) slow = Promise.resolve(answer);
      else ok(!await judge(await answer, () => false));
    },
    async () => {
      if (slow === null) return;
      gates.pop()!();
      eq((await slow).status, 200);
      slow = null;
    },
    // Somebody reads on, up to the end or to where it breaks, or leaves in the middle.
    async () => {
      const reader = streams.splice(dice.below(streams.length + 1), 1)[0];
      if (reader === undefined) return;
      if (dice.chance(0.4)) return await reader.cancel();
      const whole = dice.chance(0.5);
      let done: boolean;
      do done = await reader.read().then(({ done }) => done, () => true); while (whole && !done);
      if (!done) streams.push(reader);
    },
  ];
  for (let step = 0; step < 60; step++) await dice.pick(moves)();
  gates.pop()?.();
  await slow;
  for (const reader of streams) await reader.cancel();
  eq(
    await world.app.limiter.leftOfKey("max_concurrent", keyOf(key.id)).then((left) =>
      left.remaining
    ),
    limit,
    `seed ${dice.seed}: a connection was lost`,
  );
}

const keyOf = (id: string) => ({ id, type: "live" as const, limits: null });

for (const sole of [true, false]) {
  Deno.test(`connections: every request and stream frees its connection, however it ends (${sole ? "one instance" : "shared store"})`, async () => {
    for (let round = 0; round < 6; round++) await play(random(seed + round), sole);
  });
}

Deno.test("connections: a request over the limit spends no other limit and says when to retry", async () => {
  await using world = await World.open({
    config: configWith({ max_concurrent: 1, burst_per_10_seconds: 9 }),
  });
  const key = await world.key(await world.signUp(), ["agents:read"]);
  const stream = await StreamClient.open(world, key.value);
  for (let n = 0; n < 20; n++) {
    const { status, body, headers } = await world.call("GET", "/api/v1/agents", { as: key.value });
    eq(status, 429);
    deq([body.error.details.scope, body.error.details.limit], ["connections", 1]);
    deq([headers.get("retry-after"), headers.get("x-ratelimit-remaining")], ["1", "0"]);
  }
  await stream.cut();
  const after = await world.call("GET", "/api/v1/agents", { as: key.value });
  deq([after.status, after.headers.get("x-ratelimit-remaining")], [200, "7"]);
});

Deno.test("connections: an agent's link counts as none, and a stream that the relay ends gives its own back", async () => {
  await using world = await World.open({ config: configWith({ max_concurrent: 1 }) });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:admin", "agents:read"]);
  const agents = [1, 2, 3].map((n) => ScriptedAgent.connect(world, key.value, { name: `a${n}` }));
  for (const agent of agents) ok((await agent).id);
  const stream = await StreamClient.open(world, key.value);
  eq((await world.call("GET", "/api/v1/agents", { as: key.value })).status, 429);
  world.app.streams.stop();
  while (await stream.next() !== null);
  eq((await world.call("GET", "/api/v1/agents", { as: key.value })).status, 200);
  eq((await world.call("GET", "/api/v1/agents", { as: owner.token })).status, 200);
});
