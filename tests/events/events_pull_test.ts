import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { dropExpiredRows } from "../../core/events/trail/retention.ts";
import { verifyDelivery } from "../../core/cli/receiver.ts";
import { type ListenHost, listenLoop } from "../../core/cli/remote/oversight/listen_loop.ts";
import { createClient } from "../../core/client/client.ts";
import { PLATFORM } from "../../core/client/platform.ts";
import { tool } from "../mcp/client.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { random } from "../support/random.ts";
import { World } from "../support/world.ts";
import { linkAgent } from "../support/linked_agent.ts";
import { answering, happen, hear } from "../delivery/webhooks/hook_fixtures.ts";

const PATH = "/api/v1/events";

Deno.test("events.pull: the log from a number on, in the shape of a webhook's body", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  await happen(world, owner, "one");
  await world.settle();
  const { body } = await world.call("GET", PATH, { as: owner.token });
  const { delivery_id, ...sent } = JSON.parse(String(world.network.sent[0]!.body));
  ok(delivery_id && hook.id);
  const [{ seq, ...event }, ...more] = body.events;
  deq([event, more], [sent, []]);
  deq([body.next, body.head, body.has_more], [seq, seq, false]);
  const rest = await world.call("GET", `${PATH}?since=${body.next}`, { as: owner.token });
  deq(rest.body, { events: [], next: seq, head: seq, has_more: false });
});

Deno.test("events.pull: only what the caller may read and asked for, and never another organization's", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await world.settle();
  const stranger = await world.signUp();
  const policies = await world.key(here.owner, ["policy:read"]);
  const types = async (as: string, query = "") =>
    (await world.call("GET", PATH + query, { as })).body.events
      .map(({ event_type }: { event_type: string }) => event_type);
  deq(await types(here.owner.token), ["agent_created", "agent_connected"]);
  deq(await types(here.owner.token, "?types=agent_connected,agent_deleted"), ["agent_connected"]);
  deq(await types(policies.value), []);
  deq(await types(stranger.token), []);
  const none = await world.key(here.owner, ["system:read"]);
  eq((await world.call("GET", PATH, { as: none.value })).status, 403);
  for (const query of ["?since=-1", "?since=x", "?limit=201", "?types=ping", "?types="]) {
    eq((await world.call("GET", PATH + query, { as: here.owner.token })).status, 400, query);
  }
});

Deno.test("events.pull: skips notifications to people, which are no events", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await hear(world, owner, { retry_policy: { max_retries: 1 } });
  answering(world, 500);
  await happen(world, owner);
  await world.settle();
  const { status, body } = await world.call("GET", PATH, { as: owner.token });
  deq([status, body.events.length, body.next], [200, 1, body.head]);
});

Deno.test("events.pull: a number beyond the newest event is gone, and the answer says where to go on", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await happen(world, owner);
  const { body: { head } } = await world.call("GET", PATH, { as: owner.token });
  const beyond = await world.call("GET", `${PATH}?since=${head + 1}`, { as: owner.token });
  const { code, message, details } = beyond.body.error;
  deq([beyond.status, code, details.head, details.next], [410, "GONE", head, head]);
  ok(message.includes(`from ${head},`), message);
  // What has no number yet gets it before the answer.
  await happen(world, owner);
  const rest = await world.call("GET", `${PATH}?since=${head + 1}`, { as: owner.token });
  deq([rest.status, rest.body.next], [200, head + 1]);
});

Deno.test("events.pull, tail_events: a position older than the retention answers GONE and names the next one", async () => {
  await using world = await World.open({ config: { retention_days: { audit: 30 }, ...NO_LIMITS } });
  const owner = await world.signUp();
  const { value: as } = await world.key(owner, ["system:read", "agents:read", "audit:write"]);
  // Large rows, so that they fill segments.
  const body = { event_type: "note", details: { text: "x".repeat(7_000) } };
  for (let n = 0; n < 40; n++) await world.call("POST", "/api/audit/event", { as, body });
  await world.settle();
  world.clock.nowMs += 31 * 24 * 60 * 60 * 1000;
  ok(await dropExpiredRows(world.app) > 0);
  const pull = (since: number) => world.call("GET", `${PATH}?since=${since}`, { as });
  const { status, body: { error } } = await pull(1);
  deq([status, error.code], [410, "GONE"]);
  const tail = async (cursor: number) =>
    (await tool(world, "tail_events", { cursor }, { as })).body.result;
  deq((await tail(1))._meta["relay/error"].details.next, error.details.next);
  deq([(await pull(error.details.next)).status, (await pull(0)).status], [200, 200]);
  const { events } = (await tail(error.details.next)).structuredContent;
  eq(events[0].seq, error.details.next + 1);
  const beyond = (await tail(error.details.head + 1_000))._meta["relay/error"];
  deq([beyond.code, beyond.details.next], ["GONE", beyond.details.head]);
});

Deno.test("events.pull: in pages of any size each event comes once and none is missing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 150; n++) {
    await happen(world, owner, `${n}`);
    if (n % 3 === 0) await world.key(owner, ["agents:read"]);
  }
  for (let seed = 1; seed <= 20; seed++) {
    const dice = random(seed);
    const names: string[] = [];
    for (let since = 0, more = true; more;) {
      const { body } = await world.call(
        "GET",
        `${PATH}?since=${since}&limit=${1 + dice.below(40)}`,
        {
          as: owner.token,
        },
      );
      names.push(...body.events.map((e: { payload: { name: string } }) => e.payload.name));
      since = body.next;
      more = body.has_more;
    }
    deq(names, Array.from({ length: 150 }, (_, n) => `${n}`), `seed ${seed}`);
  }
});

/** A client of a world's relay; `lost` says whether the next request does not arrive. */
const clientOf = (world: World, token: string, lost = () => false) =>
  createClient({
    url: "http://relay.test/",
    token,
    async fetch(url, init) {
      // What the runtime's fetch throws.
      const cause = new Error("connection refused");
      if (lost()) throw new TypeError("fetch failed", { cause });
      const { pathname, search } = new URL(url as string);
      return await world.send(new Request(`http://localhost${pathname}${search}`, init));
    },
    platform: { ...PLATFORM, sleep: () => Promise.resolve() },
  });

Deno.test("relay listen: forwards what happens from now on, signed as a webhook is, each once", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value: token } = await world.key(owner, ["agents:read"]);
  await happen(world, owner, "before");
  const controller = new AbortController();
  const said: string[] = [], got: { type: string; name: string; fault: string | null }[] = [];
  const secret = "a secret to sign with";
  let sleeps = 0;
  const host: ListenHost = {
    fetch: (_url, init) => {
      const headers = new Headers(init!.headers);
      const body = Buffer.from(String(init!.body));
      const fault = verifyDelivery(secret, headers, body);
      got.push({
        type: headers.get("x-service-event")!,
        name: JSON.parse(String(body)).payload.name,
        fault,
      });
      if (got.length === 2) return Promise.reject(new Error("nobody is there"));
      return Promise.resolve(new Response(null, { status: 204 }));
    },
    now: () => Date.now(),
    async sleep() {
      sleeps++;
      if (sleeps === 1) { for (const name of ["a", "b", "c"]) await happen(world, owner, name); }
      if (sleeps === 4) controller.abort();
    },
    forwarded: (_answer, line) => Promise.resolve(void said.push(line)),
    note: (line) => Promise.resolve(void said.push(line)),
  };
  const options = {
    relay: clientOf(world, token, () => sleeps === 2),
    forward: "http://localhost:3000/hook",
    secret,
    types: undefined,
    since: null,
  };
  await listenLoop(options, host, controller.signal);
  deq(got, ["a", "b", "c"].map((name) => ({ type: "agent_disconnected", name, fault: null })));
  const [first, second, third, trouble, better] = said;
  ok(/agent_disconnected {2}→ 204/.test(first!) && /→ 204/.test(third!), said.join("\n"));
  ok(/→ nobody is there/.test(second!), second);
  eq(trouble, "No answer, trying again: http://relay.test cannot be reached: connection refused");
  eq(better, "The relay answers again.");
  const refused = { ...options, relay: clientOf(world, "wrong") };
  await rejects(listenLoop(refused, host, new AbortController().signal), { status: 401 });
});

Deno.test("relay listen: reports a log that ends before the last seen event and continues at its end", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value: token } = await world.key(owner, ["agents:read"]);
  await happen(world, owner, "before");
  const { body: { head } } = await world.call("GET", PATH, { as: owner.token });
  const controller = new AbortController();
  const said: string[] = [], got: string[] = [];
  const host: ListenHost = {
    fetch: (_url, init) => {
      got.push(JSON.parse(String(init!.body)).payload.name);
      return Promise.resolve(new Response(null, { status: 204 }));
    },
    now: () => world.clock.now(),
    async sleep() {
      if (got.length > 0) controller.abort();
      else await happen(world, owner, "after");
    },
    forwarded: () => Promise.resolve(),
    note: (line) => Promise.resolve(void said.push(line)),
  };
  const options = {
    relay: clientOf(world, token),
    forward: "http://localhost:3000/hook",
    secret: "a secret to sign with",
    types: undefined,
    since: head + 1_000,
  };
  await listenLoop(options, host, controller.signal);
  deq(got, ["after"]);
  ok(said[0]!.startsWith(`Events are missing: The log ends at ${head}, before ${head + 1_000}: `));
});
