import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { dropExpiredRows } from "../../core/events/trail/retention.ts";
import { verifyDelivery } from "../../core/cli/receiver.ts";
import { parseArguments } from "../../core/cli/arguments.ts";
import { LISTEN_TEXTS, listenCommand, listenOptions } from "../../core/cli/listen.ts";
import { type ListenHost, listenLoop } from "../../core/cli/listen_loop.ts";
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
    async request(url, init) {
      const { pathname, search, hostname } = new URL(url);
      const headers = new Headers(init.headers);
      if (hostname === "relay.test") {
        const as = headers.get("authorization")!.slice("Bearer ".length);
        // What the runtime's fetch throws.
        const cause = new Error("connection refused");
        if (sleeps === 2) throw new TypeError("fetch failed", { cause });
        const { status, text } = await world.call("GET", pathname + search, { as });
        return new Response(text, { status });
      }
      const body = Buffer.from(String(init.body));
      const fault = verifyDelivery(secret, headers, body);
      got.push({
        type: headers.get("x-service-event")!,
        name: JSON.parse(String(body)).payload.name,
        fault,
      });
      if (got.length === 2) throw new Error("nobody is there");
      return new Response(null, { status: 204 });
    },
    now: () => Date.now(),
    async sleep() {
      sleeps++;
      if (sleeps === 1) { for (const name of ["a", "b", "c"]) await happen(world, owner, name); }
      if (sleeps === 4) controller.abort();
    },
    say: (line) => said.push(line),
  };
  const options = {
    url: "http://relay.test/",
    token,
    forward: "http://localhost:3000/hook",
    secret,
    types: null,
    since: null,
  };
  eq(await listenLoop(options, host, controller.signal), null);
  deq(got, ["a", "b", "c"].map((name) => ({ type: "agent_disconnected", name, fault: null })));
  const [first, second, third, trouble, better] = said;
  ok(/agent_disconnected {2}→ 204/.test(first!) && /→ 204/.test(third!), said.join("\n"));
  ok(/→ nobody is there/.test(second!), second);
  ok(/cannot be reached, trying again: connection refused/.test(trouble!), trouble);
  eq(better, "the relay answers again");
  const refused = await listenLoop(
    { ...options, token: "wrong" },
    host,
    new AbortController().signal,
  );
  ok(refused?.startsWith("the relay refused: "), `${refused}`);
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
    async request(url, init) {
      const { pathname, search, hostname } = new URL(url);
      if (hostname === "relay.test") {
        const { status, text } = await world.call("GET", pathname + search, { as: token });
        return new Response(text, { status });
      }
      got.push(JSON.parse(String(init.body)).payload.name);
      return new Response(null, { status: 204 });
    },
    now: () => world.clock.now(),
    async sleep() {
      if (got.length > 0) controller.abort();
      else await happen(world, owner, "after");
    },
    say: (line) => said.push(line),
  };
  const options = {
    url: "http://relay.test",
    token,
    forward: "http://localhost:3000/hook",
    secret: "a secret to sign with",
    types: null,
    since: head + 1_000,
  };
  eq(await listenLoop(options, host, controller.signal), null);
  deq(got, ["after"]);
  ok(said[0]!.startsWith(`events are missing: The log ends at ${head}, before ${head + 1_000}: `));
});

Deno.test("relay listen: reads its arguments and explains invalid ones", async () => {
  const read = async (args: string[], env = {}) => {
    const { options } = await parseArguments({ texts: LISTEN_TEXTS }, args);
    return listenOptions(options, env, () => " from a file\n");
  };
  const good = ["--forward", "http://localhost:3000/hook", "--token", "k", "--secret", "s"];
  deq(await read([...good, "--since=7", "--types=agent_created"]), {
    url: "http://127.0.0.1:9081",
    token: "k",
    forward: "http://localhost:3000/hook",
    secret: "s",
    types: "agent_created",
    since: 7,
  });
  const made = await read(["--forward", "http://x.test", "--token-file", "f"], {
    RELAY_URL: "https://r",
  });
  ok(made.secret.startsWith("whsec_"));
  deq([made.token, made.url], ["from a file", "https://r"]);
  const unset = await read(["--forward", "http://x.test", "--token", "k"], {
    RELAY_URL: "",
    RELAY_WEBHOOK_SECRET: "",
  });
  ok(unset.secret.startsWith("whsec_"));
  eq(unset.url, "http://127.0.0.1:9081");
  eq(await listenCommand(["--help"]), 0);
  for (
    const args of [
      [],
      ["--forward", "nowhere", "--token", "k"],
      ["--forward", "http://x.test"],
      [...good, "--url", "ftp://x"],
      [...good, "--since", "x"],
      [...good, "--surprise"],
    ]
  ) {
    await rejects(read(args), { name: "UsageError", message: /\.$/ }, `${args}`);
  }
  const twice = () => read([...good, "--types=agent_created", "--types", "agent_deleted"]);
  await rejects(twice, { message: "The option --types may be given only once." });
});
