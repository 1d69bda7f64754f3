import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { OutboundError } from "../../../core/ports/ports.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { mortal, shared } from "../../support/kv.ts";
import { World } from "../../support/world.ts";
import {
  AGENT_RIGHTS,
  deliveriesOf,
  eventsOf,
  exec,
  linkAgent,
  makeHook,
} from "../../support/linked_agent.ts";
import { letDie } from "./hook_fixtures.ts";
import { FIRST_RETRY_MS, LADDER_MS } from "../../support/ladder.ts";
import { rawRows } from "../../support/raw_rows.ts";

const PATH = "/api/v1/webhooks";

/** Links and unlinks an agent, so that `agent_created` happens now and no link sets timers. */
async function agentComesAndGoes(world: World, key: { value: string }): Promise<void> {
  (await ScriptedAgent.connect(world, key.value)).drop();
  await world.settle();
}

/** When requests were made, in seconds after `startMs`. */
function watchTimes(world: World, reply: World["network"]["reply"]): number[] {
  const startMs = world.clock.now(), at: number[] = [];
  world.network.reply = (request) => {
    at.push((world.clock.now() - startMs) / 1000);
    return reply(request);
  };
  return at;
}

Deno.test("ladder: five attempts, the next one a step of the ladder after each failure, then the webhook is disabled", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const hook = await makeHook(world, owner, ["agent_created"]);
  const show = async () =>
    (await world.call("GET", `${PATH}/${hook.id}`, { as: owner.token })).body;
  const times = watchTimes(world, () => 503);
  await agentComesAndGoes(world, key);
  const steps = [0];
  for (const waitMs of LADDER_MS.slice(0, 4)) steps.push(steps.at(-1)! + waitMs / 1000);
  const atIso = (seconds: number) => new Date(Date.UTC(2030, 0, 1) + seconds * 1000).toISOString();
  for (const [n, at] of steps.entries()) {
    if (n > 0) {
      await world.advance((at - steps[n - 1]!) * 1000 - 1);
      deq(times.length, n);
      await world.advance(1);
    }
    deq(times, steps.slice(0, n + 1));
    const { deliveries: [delivery] } = await deliveriesOf(world, owner, hook.id);
    const next = steps[n + 1];
    deq(delivery, {
      ...delivery,
      status: "failed",
      final: next === undefined,
      http_status: 503,
      response_time_ms: 0,
      attempt: n + 1,
      sent_at: atIso(at),
      error: "http",
      next_attempt_at: next === undefined ? null : atIso(next),
    });
    eq((await show()).active, next !== undefined);
  }
  await world.advance(1_000); // an instance writes its counts within a second, and another one may be asked
  const shown = await show();
  deq([shown.delivery_count, shown.last_delivery_at], [5, atIso(steps.at(-1)!)]);
  const bodies = new Set(world.network.sent.map(({ body }) => body));
  const ids = new Set(world.network.sent.map(({ headers }) => headers["X-Service-Delivery"]));
  deq([bodies.size, ids.size], [1, 1]);
  const events = await eventsOf(world, owner, hook.id);
  deq(events.at(-1)!.details, { name: "hook", url: hook.url, attempts: 5, error: "http" });
  deq([events.at(-1)!.event_type, events.at(-1)!.actor], ["webhook_disabled", "relay"]);
  await agentComesAndGoes(world, key);
  await world.advance(3_600_000);
  eq(times.length, 5);
});

Deno.test("ladder: a disabled webhook gets no waiting delivery", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const hook = await makeHook(world, owner, ["agent_created"], {
    retry_policy: { max_retries: 2 },
  });
  const times = watchTimes(world, () => 500);
  await agentComesAndGoes(world, key);
  await world.advance(10_000);
  await agentComesAndGoes(world, key);
  // The first delivery fails for good at its second attempt; that of the second one would be 10 s later.
  await world.advance(100_000);
  deq(times, [0, 10, FIRST_RETRY_MS / 1000]);
  const { deliveries } = await deliveriesOf(world, owner, hook.id);
  deq(
    deliveries.map((d: Record<string, unknown>) => [d.status, d.attempt, d.final]),
    [["pending", 1, false], ["failed", 2, true]],
  );
});

Deno.test("ladder: without auto_disable a webhook stays enabled after failures", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const hook = await makeHook(world, owner, ["agent_created"], {
    retry_policy: { max_retries: 1, auto_disable: false },
  });
  const times = watchTimes(world, () => 500);
  await agentComesAndGoes(world, key);
  await agentComesAndGoes(world, key);
  deq(times, [0, 0]);
  eq((await world.call("GET", `${PATH}/${hook.id}`, { as: owner.token })).body.active, true);
  deq((await eventsOf(world, owner, hook.id)).map(({ event_type }) => event_type), [
    "webhook_created",
  ]);
});

Deno.test("ladder: the first success ends it, and a policy may set its own delays", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const hook = await makeHook(world, owner, ["agent_created"], {
    retry_policy: { initial_delay_seconds: 5, backoff_multiplier: 3, max_delay_seconds: 20 },
  });
  const times = watchTimes(world, () => times.length === 5 ? 200 : 500);
  await agentComesAndGoes(world, key);
  await world.advance(1_800_000);
  deq(times, [0, 5, 20, 40, 60]);
  const { deliveries: [delivery] } = await deliveriesOf(world, owner, hook.id);
  deq([delivery.status, delivery.final, delivery.http_status], ["succeeded", false, 200]);
  eq((await world.call("GET", `${PATH}/${hook.id}`, { as: owner.token })).body.active, true);
});

Deno.test("attempt: only 2xx succeeds, no answer in time is timed_out, and no redirect is followed", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["agent_created"], {
    retry_policy: { max_retries: 1 },
  });
  const cases: [ReturnType<World["network"]["reply"]>, string, number | null, string | null][] = [
    [200, "succeeded", 200, null],
    [299, "succeeded", 299, null],
    [302, "failed", 302, "http"],
    [410, "failed", 410, "http"],
    [new OutboundError("timeout", "slow"), "timed_out", null, "timeout"],
    [new OutboundError("connect", "refused"), "failed", null, "connect"],
    [new OutboundError("refused_address", "private"), "failed", null, "refused_address"],
  ];
  for (const [reply, status, http, error] of cases) {
    world.network.reply = () => reply;
    await world.call("POST", `${PATH}/${hook.id}/test`, { as: owner.token });
    const { deliveries: [delivery] } = await deliveriesOf(world, owner, hook.id, "?limit=1");
    deq([delivery.status, delivery.http_status, delivery.error], [status, http, error]);
  }
  eq(world.network.sent.length, cases.length);
});

Deno.test("deliveries: are listed newest first in pages, and only under their own webhook", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [hook, other] = [
    await makeHook(world, owner, ["agent_created"]),
    await makeHook(world, owner, ["agent_created"]),
  ];
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    const ping = await world.call("POST", `${PATH}/${hook.id}/test`, { as: owner.token });
    ids.unshift(ping.body.id);
    await world.settle();
  }
  const first = await deliveriesOf(world, owner, hook.id, "?limit=2");
  deq(first.deliveries.map(({ id }: { id: string }) => id), ids.slice(0, 2));
  deq(first.pagination, { total: 5, limit: 2, offset: 0, has_more: true });
  const last = await deliveriesOf(world, owner, hook.id, "?limit=2&offset=4");
  deq(last.deliveries.map(({ id }: { id: string }) => id), ids.slice(4));
  eq(last.pagination.has_more, false);
  const one = (webhook: string) =>
    world.call("GET", `${PATH}/${webhook}/deliveries/${ids[0]}`, { as: owner.token });
  const { attempts, request, ...detail } = (await one(hook.id)).body;
  deq([detail, request.url, attempts.length], [first.deliveries[0], hook.url, 1]);
  eq((await one(other.id)).status, 404);
  eq((await deliveriesOf(world, owner, other.id)).pagination.total, 0);
  // Thirty days later they are gone.
  world.clock.nowMs += 30 * 24 * 60 * 60 * 1000;
  const login = { email: owner.email, password: "password 1" };
  const { body: { token } } = await world.call("POST", "/api/v1/login", { body: login });
  deq((await deliveriesOf(world, { ...owner, token }, hook.id)).deliveries, []);
});

Deno.test("webhooks.delete: nothing is sent any more, including waiting deliveries", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const hook = await makeHook(world, owner, ["agent_created"]);
  const times = watchTimes(world, () => 500);
  await agentComesAndGoes(world, key);
  const gone = await world.call("DELETE", `${PATH}/${hook.id}`, { as: owner.token });
  deq([gone.status, gone.text], [204, ""]);
  for (const path of ["", "/deliveries", "/test"]) {
    const method = path === "/test" ? "POST" : "GET";
    eq((await world.call(method, `${PATH}/${hook.id}${path}`, { as: owner.token })).status, 404);
  }
  await agentComesAndGoes(world, key);
  await world.advance(60_000);
  deq(times, [0]);
  for (const { kind: name } of await rawRows(world.kv, owner)) {
    ok(!["webhooks", "deliveries"].includes(String(name)), String(name));
  }
});

Deno.test("crash: an attempt that a dead relay had claimed counts, and another follows when the lease ends", async () => {
  const kv = await Deno.openKv(":memory:");
  const process = mortal(kv);
  const dead = await World.open({ kv: process.kv });
  const here = await linkAgent(dead);
  const hook = await makeHook(dead, here.owner, ["command_executed"]);
  dead.network.reply = () => {
    process.alive = false;
    return 200;
  };
  await exec(dead, here, "uptime");
  await letDie(dead);
  eq(dead.network.sent.length, 1);
  await using world = await World.open({ kv, seed: 2 });
  const show = async () => (await deliveriesOf(world, here.owner, hook.id)).deliveries[0];
  deq([(await show()).status, (await show()).attempt], ["sending", 1]);
  await world.advance(29_999);
  eq(world.network.sent.length, 0);
  await world.advance(1);
  deq([(await show()).status, (await show()).attempt], ["succeeded", 2]);
  eq(world.network.sent.length, 1);
  eq(world.network.sent[0]!.body, dead.network.sent[0]!.body);
});

Deno.test("crash: an acknowledged event without deliveries is delivered once by the next process", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const here = await linkAgent(dead);
  await makeHook(dead, here.owner, ["command_executed"]);
  await dead.settle();
  eq((await exec(dead, here, "uptime")).status, 200);
  deq(dead.network.sent, []);
  await using world = await World.open({ kv, seed: 2 });
  await world.advance(60_000);
  eq(world.network.sent.length, 1);
  eq(JSON.parse(String(world.network.sent[0]!.body)).event_type, "command_executed");
});

Deno.test("webhooks: a name that leads to a private address is refused when it is set, with the reason", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const why = "inside.example resolves to 10.0.0.7, which is not a public address.";
  world.network.refuse = (url) =>
    new URL(url).host === "inside.example" ? new OutboundError("refused_address", why) : null;
  const made = await makeHook(world, owner, ["agent_created"]);
  const url = "https://inside.example/hook";
  const body = { name: "h", url, events: ["agent_created"] };
  for (
    const refused of [
      await world.call("POST", PATH, { as: owner.token, body }),
      await world.call("PATCH", `${PATH}/${made.id}`, { as: owner.token, body: { url } }),
    ]
  ) {
    eq(refused.status, 400);
    deq(refused.body.error.details.issues, [{ path: "body.url", message: why }]);
  }
  eq((await world.call("GET", PATH, { as: owner.token })).body.webhooks[0].url, made.url);
});
