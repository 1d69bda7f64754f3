import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import type { Tenant } from "../../../kv/store/collection.ts";
import { users } from "../../../kv/records/user.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { World } from "../../support/world.ts";
import { deliveriesOf, exec, linkAgent, makeHook } from "../../support/linked_agent.ts";
import { act, answering, happen, hear, namesSent, newest } from "./hook_fixtures.ts";
import { RetryPolicy } from "../../../core/delivery/jobs/retry_policy.ts";
import { FIRST_RETRY_MS, LADDER_MS } from "../../support/ladder.ts";
import { rawRows } from "../../support/raw_rows.ts";

const PATH = "/api/v1/webhooks";
const SECRET = "sixteen characters";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const bodiesOf = (world: World) => world.network.sent.map(({ body }) => JSON.parse(String(body)));
const typesOf = (world: World) => bodiesOf(world).map(({ event_type }) => event_type);

Deno.test("webhooks.create: answers the record with a complete policy, and without the given secret", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const made = await makeHook(world, owner, ["command_denied", "agent_created"], {
    headers: { "X-Team": "ops" },
    retry_policy: { max_retries: 3, backoff_multiplier: 2 },
  });
  const { id, created_with, ...rest } = made;
  eq(created_with.kind, "session");
  deq(rest, {
    name: "hook",
    url: "https://hooks.example.com/x",
    active: true,
    events: ["command_denied", "agent_created"],
    custom_headers: { "X-Team": "ops" },
    retry_policy: RetryPolicy.parse({ max_retries: 3, backoff_multiplier: 2 }),
    previous_secret_ends_at: null,
    release_id: null,
    acts_for: owner.userId,
    suspended: null,
    created_at: "2030-01-01T00:00:00.000Z",
    delivery_count: 0,
    last_delivery_at: null,
  });
  deq((await world.call("GET", `${PATH}/${id}`, { as: owner.token })).body, made);
  const listed = await world.call("GET", PATH, { as: owner.token });
  deq(listed.body.webhooks, [made]);
  await world.call("POST", `${PATH}/${id}/test`, { as: owner.token });
  const trail = await world.call("GET", "/api/audit", { as: owner.token });
  const log = await world.call("GET", `${PATH}/${id}/deliveries`, { as: owner.token });
  for (const { text } of [listed, trail, log]) ok(!text.includes(SECRET));
  await world.settle();
  for (const { value } of await rawRows(world.kv)) {
    const text = value instanceof Uint8Array
      ? new TextDecoder().decode(value)
      : Deno.inspect(value, { depth: 9 });
    ok(!text.includes(SECRET));
  }
});

Deno.test("webhooks.create: generates a secret, shows it once, and signs as the libraries expect", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { secret, ...made } = await makeHook(world, owner, ["agent_created"], {
    secret: undefined,
  });
  const other = await makeHook(world, owner, ["agent_created"], { secret: undefined });
  ok(/^whsec_[A-Za-z0-9+/]{32}$/.test(secret), secret);
  ok(secret !== other.secret);
  deq((await world.call("GET", `${PATH}/${made.id}`, { as: owner.token })).body, made);
  await world.call("POST", `${PATH}/${made.id}/test`, { as: owner.token });
  await world.settle();
  const { headers, body } = world.network.sent.at(-1)!;
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signed } = headers;
  eq(signed, new Webhook(secret).sign(id!, new Date(Number(at) * 1000), String(body)));
  const trail = await world.call("GET", "/api/audit", { as: owner.token });
  ok(!trail.text.includes(secret));
});

Deno.test("webhooks.create: names the path of each error, and creates nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const good = { name: "h", url: "https://x.example", secret: SECRET, events: ["agent_created"] };
  const cases: [Record<string, unknown>, string][] = [
    [{ name: "" }, "body.name"],
    [{ secret: "short" }, "body.secret"],
    [{ events: [] }, "body.events"],
    [{ events: ["agent_created", "agent_created"] }, "body.events"],
    [{ events: ["ping"] }, "body.events.0"],
    [{ events: ["*"] }, "body.events.0"],
    [{ active: "yes" }, "body.active"],
    [{ retry_policy: { max_retries: 0 } }, "body.retry_policy.max_retries"],
    [{ retry_policy: { max_retries: 13 } }, "body.retry_policy.max_retries"],
    [{ retry_policy: { retries: 3 } }, "body.retry_policy"],
    [{ url: "" }, "body.url"],
    [{ url: "nowhere" }, "body.url"],
    [{ url: "ftp://x.example" }, "body.url"],
    [{ url: "https://user:password@x.example" }, "body.url"],
    [{ url: "http://127.0.0.1/" }, "body.url"],
    [{ url: "http://2130706433/" }, "body.url"],
    [{ url: "http://[::1]:8080/" }, "body.url"],
    [{ url: "http://169.254.169.254/latest/meta-data" }, "body.url"],
    [{ url: "http://[::ffff:10.0.0.1]/" }, "body.url"],
    [{ headers: { "X-Service-Signature": "forged" } }, "body.headers.X-Service-Signature"],
    [{ headers: { "Content-Type": "text/plain" } }, "body.headers.Content-Type"],
    [{ headers: { Host: "x" } }, "body.headers.Host"],
    [{ headers: { "a b": "x" } }, "body.headers.a b"],
    [{ headers: { "X-A": "line\r\nX-B: 1" } }, "body.headers.X-A"],
    [{ headers: { "X-A": 1 } }, "body.headers.X-A"],
  ];
  for (const [change, path] of cases) {
    const body = { ...good, ...change };
    const answer = await world.call("POST", PATH, { as: owner.token, body });
    deq(
      [answer.status, answer.body.error.code],
      [400, "VALIDATION_FAILED"],
      JSON.stringify(change),
    );
    deq(answer.body.error.details.issues.map((issue: { path: string }) => issue.path), [path]);
  }
  eq((await world.call("GET", PATH, { as: owner.token })).body.pagination.total, 0);
});

Deno.test("webhooks.create: allows private targets if the configuration does", async () => {
  await using world = await World.open({ config: { outbound: { allow_private_targets: true } } });
  const made = await makeHook(world, await world.signUp(), ["agent_created"], {
    url: "http://127.0.0.1:9/",
  });
  eq(made.url, "http://127.0.0.1:9/");
});

Deno.test("webhooks.create: refuses events that the creator may not read", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["system:write", "policy:read"]);
  const body = {
    name: "h",
    url: "https://x.example",
    secret: SECRET,
    events: ["policy_created", "agent_created", "approval_requested"],
  };
  const { status, body: { error } } = await world.call("POST", PATH, { as: key.value, body });
  deq([status, error.code], [403, "INSUFFICIENT_SCOPES"]);
  deq(error.details.required, ["agents:read", "approvals:read"]);
});

Deno.test("delivery: sends the envelope, signed over its raw bytes, with the five headers and the custom ones", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const hook = await makeHook(world, here.owner, ["command_denied"], {
    headers: { "X-Team": "ops" },
  });
  await exec(world, here, "rm -rf /");
  await world.settle();
  const [request, ...more] = world.network.sent;
  deq(more, []);
  const { method, url, headers, body, deadlineMs, keepBytes } = request!;
  deq([method, url, deadlineMs, keepBytes], ["POST", hook.url, 10_000, 4096]);
  const sent = JSON.parse(String(body));
  const [delivery] = (await deliveriesOf(world, here.owner, hook.id)).deliveries;
  deq(Object.keys(sent), [
    "event_id",
    "event_type",
    "timestamp",
    "organization_id",
    "agent_id",
    "delivery_id",
    "payload",
  ]);
  ok(UUID.test(sent.event_id));
  deq([sent.event_type, sent.timestamp], ["command_denied", "2030-01-01T00:00:00.000Z"]);
  deq([sent.organization_id, sent.agent_id], [here.owner.org, here.agent.id]);
  deq([sent.delivery_id, sent.event_id], [delivery.id, delivery.event_id]);
  deq(Object.keys(sent.payload).sort(), [
    "command",
    "command_id",
    "correlation_id",
    "policy_id",
    "rule_id",
    "session_id",
    "shield_result",
    "user",
  ]);
  const hmac = createHmac("sha256", SECRET).update(String(body)).digest("hex");
  deq([headers["Content-Type"], headers["X-Service-Event"], headers["X-Service-Signature"]], [
    "application/json",
    "command_denied",
    `sha256=${hmac}`,
  ]);
  deq([headers["X-Service-Delivery"], headers["X-Service-Timestamp"]], [
    delivery.id,
    sent.timestamp,
  ]);
  eq(headers["X-Team"], "ops");
  // The library requires a recent timestamp; only the signature matters here.
  const stamp = Number(headers["webhook-timestamp"]);
  eq(stamp * 1000, world.clock.now());
  const signature = new Webhook(SECRET, { format: "raw" })
    .sign(delivery.id, new Date(stamp * 1000), String(body));
  deq([headers["webhook-id"], headers["webhook-signature"]], [delivery.id, signature]);
  const audit = await world.call("GET", "/api/audit?event_type=command_denied", {
    as: here.owner.token,
  });
  deq([audit.body.events[0].event_id, audit.body.events[0].details], [sent.event_id, sent.payload]);
});

Deno.test("delivery: each webhook gets the events that it subscribes to, from its creation on", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await exec(world, here, "uptime");
  await world.advance(1);
  const [runs, both, off] = [
    await makeHook(world, here.owner, ["command_executed"]),
    await makeHook(world, here.owner, ["command_executed", "agent_disconnected"]),
    await makeHook(world, here.owner, ["command_executed"], { active: false }),
  ];
  const stranger = await world.signUp();
  const foreign = await makeHook(world, stranger, ["command_executed", "agent_disconnected"]);
  await exec(world, here, "date");
  // Only the clock moves on: the event is acknowledged, but not yet in the log.
  world.clock.nowMs += 1;
  const late = await makeHook(world, here.owner, ["command_executed"]);
  here.agent.drop();
  await world.settle();
  deq(typesOf(world).sort(), ["agent_disconnected", "command_executed", "command_executed"]);
  const counts = await Promise.all([
    deliveriesOf(world, here.owner, runs.id),
    deliveriesOf(world, here.owner, both.id),
    deliveriesOf(world, here.owner, off.id),
    deliveriesOf(world, here.owner, late.id),
    deliveriesOf(world, stranger, foreign.id),
  ]);
  eq(counts[2].deliveries[0].held, true);
  deq(counts.map(({ pagination }) => pagination.total), [1, 2, 1, 0, 0]);
  eq(new Set(bodiesOf(world).map(({ delivery_id }) => delivery_id)).size, 3);
});

Deno.test("delivery: live and test events go to webhooks of their own space", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["system:write", "system:read", "agents:read"], {
    type: "test",
  });
  await makeHook(world, { ...owner, token: value }, ["agent_created"]);
  await linkAgent(world);
  await world.settle();
  deq(world.network.sent, []);
});

Deno.test("delivery: a webhook gets no event that its creator may not read now, waiting or new", async () => {
  await using world = await World.open();
  await world.signUp();
  const here = await linkAgent(world);
  await world.advance(1);
  const hook = await makeHook(world, here.owner, ["command_executed", "agent_connected"]);
  const tenant: Tenant = { org: here.owner.org, space: "live" };
  const setRoles = (roles: string[]) =>
    world.app.store.transact(async (tx) => {
      tx.put(users, tenant, { ...(await tx.get(users, tenant, here.owner.userId))!, roles });
    });
  world.network.reply = () => 500;
  await exec(world, here, "uptime");
  await world.settle();
  await setRoles([]);
  await world.advance(FIRST_RETRY_MS + 1_000);
  eq(world.network.sent.length, 1);
  await setRoles(["owner"]);
  const { deliveries } = await deliveriesOf(world, here.owner, hook.id);
  const [{ status, attempt, final, error }] = deliveries;
  deq([status, attempt, final, error], ["failed", 1, true, "not_allowed"]);
  await ScriptedAgent.connect(world, here.key.value);
  await world.settle();
  deq(typesOf(world), ["command_executed", "agent_connected"]);
});

Deno.test("delivery: a webhook gets the events from its creation on, whichever way the clock jumps", async () => {
  for (const jumpMs of [-3_600_000, 0, 3_600_000]) {
    await using world = await World.open();
    const owner = await world.signUp();
    await hear(world, owner, { url: "https://first.example.com/" });
    await happen(world, owner, "before");
    await hear(world, owner, { url: "https://second.example.com/" });
    // After the clock was set back, a due delivery waits until its time comes again.
    await world.settle();
    world.clock.nowMs += jumpMs;
    await happen(world, owner, "after");
    await world.settle();
    const sent = world.network.sent.map(({ url }, at) => `${namesSent(world)[at]} ${url}`);
    deq(sent.sort(), [
      "after https://first.example.com/",
      "after https://second.example.com/",
      "before https://first.example.com/",
    ]);
  }
});

Deno.test("webhooks.test: a failing test does not disable the webhook", async () => {
  for (const [status, attempts] of [[500, 5], [410, 1]] as const) {
    await using world = await World.open();
    const owner = await world.signUp();
    const hook = await hear(world, owner, { retry_policy: { disable_on_gone: true } });
    answering(world, status);
    await act(world, owner, hook.id, "test");
    await world.advance(LADDER_MS.slice(0, 4).reduce((sum, ms) => sum + ms));
    const { test, final, attempt } = await newest(world, owner, hook.id);
    deq([test, final, attempt], [true, true, attempts]);
    eq((await world.call("GET", `${PATH}/${hook.id}`, { as: owner.token })).body.active, true);
  }
});

Deno.test("webhooks.test: sends a signed ping, whatever the webhook subscribes to", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await makeHook(world, owner, ["agent_created"]);
  const answer = await world.call("POST", `${PATH}/${hook.id}/test`, { as: owner.token });
  deq([answer.status, answer.body.event_type, answer.body.status], [202, "ping", "pending"]);
  await world.settle();
  const [body] = bodiesOf(world);
  deq([body.event_type, body.delivery_id], ["ping", answer.body.id]);
  deq(body.payload, { message: "The webhook works.", webhook_id: hook.id, events: hook.events });
  const path = `${PATH}/${hook.id}/deliveries/${answer.body.id}`;
  const { body: delivery } = await world.call("GET", path, { as: owner.token });
  deq([delivery.status, delivery.http_status, delivery.attempt], ["succeeded", 204, 1]);
});
