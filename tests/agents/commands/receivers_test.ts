import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { withUniformTiming } from "../../../core/agents/ingest/uniform_timing.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { random } from "../../support/random.ts";
import { type Account, World } from "../../support/world.ts";
import { eventsOf } from "../../support/linked_agent.ts";
import { alertsOf, makeIngestToken, NOTIFICATION, shownOf, storedKeys } from "./ingest_fixtures.ts";

const AM = "/api/webhooks/alertmanager";
const GENERIC = "/api/webhooks/generic-alert";
const TELEGRAM = "/api/tg/webhook";

const notify = (world: World, as: string | undefined, body: unknown) =>
  world.call("POST", AM, { as, body });

async function setUp(world: World, purpose = "alertmanager") {
  const owner = await world.signUp();
  return { owner, token: await makeIngestToken(world, owner, purpose) };
}

Deno.test("ingest tokens: the value is shown once, the prefix always, and a deleted token does nothing", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world);
  ok(/^svc_ingest_[0-9A-Za-z]{49}$/.test(token.token));
  const { body, text } = await world.call("GET", "/api/v1/ingest-tokens", { as: owner.token });
  deq(body.ingest_tokens.map((each: { prefix: string }) => each.prefix), [token.prefix]);
  eq(token.prefix, `${token.token.slice(0, 15)}…`);
  ok(!text.includes(token.token));
  for (const key of await storedKeys(world)) ok(!key.includes(token.token));
  const path = `/api/v1/ingest-tokens/${token.id}`;
  eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
  eq((await world.call("DELETE", path, { as: owner.token })).status, 404);
  eq((await notify(world, token.token, NOTIFICATION)).status, 202);
  deq(await alertsOf(world, owner), []);
  const told = await eventsOf(world, owner, token.id);
  deq(told.map(({ event_type }) => event_type), ["ingest_token_created", "ingest_token_deleted"]);
  ok(!JSON.stringify(told).includes(token.token));
  const limit = await world.call("GET", "/api/v1/agents", { as: token.token });
  eq(limit.status, 401, "an ingest token is no credential");
});

Deno.test("alertmanager: a notification becomes alerts, and its retries change nothing", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world);
  eq((await notify(world, token.token, NOTIFICATION)).text, '{"accepted":true}');
  const [down, ...more] = await alertsOf(world, owner);
  deq(more, []);
  const { alert_id, ...shown } = down;
  deq(shown, {
    source: "alertmanager",
    name: "InstanceDown",
    severity: "critical",
    state: "active",
    fingerprint: "b1c2d3e4f5a60718",
    acknowledged_at: null,
    acknowledged_by: null,
    agent_id: null,
    thread: alert_id,
    labels: NOTIFICATION.alerts[0]!.labels,
    annotations: {
      ...NOTIFICATION.alerts[0]!.annotations,
      generatorURL: NOTIFICATION.alerts[0]!.generatorURL,
    },
    starts_at: "2029-12-31T23:58:12.483Z",
    ends_at: null,
    first_seen_at: "2030-01-01T00:00:00.000Z",
    last_seen_at: "2030-01-01T00:00:00.000Z",
    count: 1,
    resolved_at: null,
    resolved_by: null,
    reason: null,
  });
  const [over] = await alertsOf(world, owner, "&state=resolved");
  deq([over.ends_at, over.resolved_by], ["2029-12-31T22:59:27.483Z", token.id]);
  const before = await storedKeys(world);
  await Promise.all([1, 2, 3].map(() => notify(world, token.token, NOTIFICATION)));
  deq(await storedKeys(world), before);
  const [told, ...again] = await eventsOf(world, owner, "alertmanager");
  deq([again, told!.actor, told!.details.created, told!.details.truncated], [[], token.id, 2, 3]);
});

Deno.test("alertmanager: an ended alert is resolved, a continuing one counted, a returning one reopened", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world);
  const [firing] = NOTIFICATION.alerts;
  const say = (status: string, more = {}) =>
    notify(world, token.token, {
      ...NOTIFICATION,
      status,
      alerts: [{ ...firing, status, ...more }],
    });
  await say("firing");
  await world.advance(4 * 60 * 60 * 1000);
  const reader = {
    ...owner,
    token: (await world.call("POST", "/api/v1/login", {
      body: { email: owner.email, password: "password 1" },
    })).body.token,
  };
  await say("firing");
  eq((await alertsOf(world, reader))[0].count, 2);
  await say("resolved", { endsAt: "2030-01-01T04:00:00Z" });
  deq(await alertsOf(world, reader), []);
  await say("firing", { startsAt: "2030-01-01T04:00:01Z" });
  const [alert] = await alertsOf(world, reader);
  deq([alert.count, alert.starts_at], [3, "2030-01-01T04:00:01.000Z"]);
  await say("resolved");
  await say("firing");
  eq((await alertsOf(world, reader))[0].count, 4);
});

Deno.test("alertmanager: status and alerts are enough, and a malformed alert does not affect others", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world);
  const labels = { alertname: "Slow", severity: "page" };
  const alerts = [{ labels }, "not an alert", { labels: ["x"] }];
  for (let n = 0; n < 2; n++) {
    eq((await notify(world, token.token, { status: "firing", alerts })).status, 202);
  }
  const [alert, ...more] = await alertsOf(world, owner);
  deq([more, alert.name, alert.severity, alert.count], [[], "Slow", "critical", 1]);
  const [, told] = await eventsOf(world, owner, token.id);
  deq([told!.event_type, (told!.details.reasons as string[]).length], ["ingest_refused", 2]);
  await notify(world, token.token, { status: "on fire", alerts: 7 });
  const [, , , last] = await eventsOf(world, owner, token.id);
  deq([last!.event_type, (last!.details.reasons as string[]).length], ["ingest_refused", 1]);
  ok(world.logged.some(({ level, message }) => level === "warn" && message.includes("ingest")));
});

Deno.test("generic alerts: an event with its payload, one for each fingerprint", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world, "generic");
  const payload = { severity: "high", summary: "Backup is late", labels: { job: "db" }, age_h: 30 };
  const send = (more = {}) =>
    world.call("POST", GENERIC, {
      body: { event: "backup.late", payload: { ...payload, ...more } },
      headers: { "x-ingest-token": token.token },
    });
  eq((await send()).status, 202);
  await send({ age_h: 31 });
  const [alert, ...more] = await alertsOf(world, owner, "&source=generic");
  deq([more, alert.name, alert.severity, alert.count], [[], "backup.late", "critical", 2]);
  deq([alert.labels, alert.annotations.summary], [{ job: "db" }, "Backup is late"]);
  eq(JSON.parse(alert.annotations.payload).age_h, 31);
  await send({ fingerprint: "another", labels: { "": "no name" } });
  await send({ status: "resolved" });
  deq(await alertsOf(world, owner), []);
});

Deno.test("generic alerts: different fingerprints are different alerts, whatever their form", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world, "generic");
  const names = [
    { labels: { port: 80 } },
    { labels: { port: 443 } },
    { labels: { tls: true } },
    { labels: { tls: false } },
    { fingerprint: 7 },
    { fingerprint: 8 },
    { fingerprint: "web-1 disk" },
    { fingerprint: "web-2 disk" },
    { fingerprint: "x".repeat(200) },
    { fingerprint: `${"x".repeat(200)}y` },
  ];
  const send = (payload: Record<string, unknown>) =>
    world.call("POST", GENERIC, {
      body: { event: "down", payload },
      headers: { "x-ingest-token": token.token },
    });
  for (const name of names) await send(name);
  const alerts = await alertsOf(world, owner, "&source=generic");
  eq(alerts.length, names.length);
  const labels = alerts.map((alert: { labels: object }) => JSON.stringify(alert.labels));
  ok(labels.includes('{"port":"443"}') && labels.includes('{"tls":"false"}'), `${labels}`);
  for (const [at, name] of names.entries()) {
    await send({ ...name, status: "resolved" });
    eq((await alertsOf(world, owner, "&source=generic")).length, names.length - at - 1);
  }
});

Deno.test("receivers: the answer is byte for byte the same for a valid, an invalid and no token, in every place", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world);
  const other = await makeIngestToken(world, owner, "generic");
  const right = await notify(world, token.token, NOTIFICATION);
  eq((await alertsOf(world, owner)).length, 1);
  const typo = token.token.slice(0, -1) + (token.token.endsWith("0") ? "1" : "0");
  const before = await storedKeys(world);
  for (const value of ["", "x", typo, other.token, owner.token, "svc_ingest_", "a b"]) {
    for (const body of [NOTIFICATION, {}, { status: 1, alerts: "x" }]) {
      const answers = [
        await notify(world, value, body),
        await world.call("POST", `${AM}?token=${encodeURIComponent(value)}`, { body }),
        await world.call("POST", AM, { body, headers: { "x-ingest-token": value } }),
        await world.call("POST", AM, { body }),
      ];
      for (const answer of answers) deq(shownOf(answer), shownOf(right));
    }
  }
  deq(await storedKeys(world), before);
  const places = [
    { path: `${AM}?token=${token.token}`, headers: {} },
    { path: AM, headers: { "x-ingest-token": token.token } },
    { path: AM, headers: { authorization: `bearer ${token.token}` } },
  ];
  for (const [n, { path, headers }] of places.entries()) {
    const body = { status: "firing", alerts: [{ labels: { alertname: `place ${n}` } }] };
    deq(shownOf(await world.call("POST", path, { body, headers })), shownOf(right));
  }
  eq((await alertsOf(world, owner)).length, 4);
});

Deno.test("receivers: the token of a deactivated organization has no effect", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world);
  const set = (active: boolean) =>
    world.app.store.transact(async (tx) => {
      const organization = await tx.get(organizations, SYSTEM, owner.org);
      tx.put(organizations, SYSTEM, { ...organization!, active });
    });
  await set(false);
  eq((await notify(world, token.token, NOTIFICATION)).status, 202);
  await set(true);
  deq(await alertsOf(world, owner), []);
  await notify(world, token.token, NOTIFICATION);
  eq((await alertsOf(world, owner)).length, 1);
});

Deno.test("withUniformTiming: an unknown sender waits as long as a known one recently took", async () => {
  await using world = await World.open();
  const took = await withUniformTiming(world.app, () => {
    world.clock.advance(40);
    return Promise.resolve("done");
  });
  eq(took, "done");
  let answered = false;
  const unknown = withUniformTiming(world.app, () => Promise.resolve(null)).then(() =>
    answered = true
  );
  const passes = async (ms: number) => {
    for (let turn = 0; turn < 10; turn++) await null;
    world.clock.advance(ms);
    for (let turn = 0; turn < 10; turn++) await null;
  };
  await passes(39);
  eq(answered, false);
  await passes(1);
  eq(answered, true);
  await unknown;
});

Deno.test("receivers: a token writes into its own organization and space only", async () => {
  await using world = await World.open();
  const owner = await world.signUp(), stranger = await world.signUp();
  const headers = { "x-relay-space": "test" };
  const token = await makeIngestToken(world, owner, "alertmanager", headers);
  await notify(world, token.token, NOTIFICATION);
  deq([await alertsOf(world, owner), await alertsOf(world, stranger)], [[], []]);
  const { body } = await world.call("GET", "/api/shield/alerts", { as: owner.token, headers });
  eq(body.alerts.length, 1);
});

Deno.test("receivers: limited by address, whatever the token", async () => {
  await using world = await World.open({ config: { limits: { public_per_minute: 4 } } });
  const { token } = await setUp(world);
  const statuses = [];
  for (const as of [token.token, undefined, "svc_ingest_x", token.token, token.token]) {
    statuses.push((await world.call("POST", AM, { as, body: {}, from: "198.51.100.7" })).status);
  }
  deq(statuses, [202, 202, 202, 202, 429]);
});

/** Any JSON, mostly with names and values that the receivers know. */
function anyJson(dice: ReturnType<typeof random>, depth = 0): unknown {
  const names = ["status", "alerts", "labels", "payload", "event", "message", "chat", "from", "id"]
    .concat(
      "text",
      "update_id",
      "chat_id",
      "fingerprint",
      "startsAt",
      "__proto__",
      "",
      "annotations",
    );
  const leaves = ["firing", "resolved", "/approve prc_x", "/link x", "\ud800", "\0", "", 1e308, -1]
    .concat(7, "0001-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "x".repeat(5_000) as never)
    .concat([null, true] as never[]);
  const roll = dice.unit();
  if (depth > 5 || roll < 0.35) return dice.pick(leaves);
  const n = dice.below(5);
  if (roll < 0.55) return Array.from({ length: n }, () => anyJson(dice, depth + 1));
  return Object.fromEntries(
    Array.from({ length: n + 1 }, () => [dice.pick(names), anyJson(dice, depth + 1)]),
  );
}

async function fuzz(world: World, account: Account, seed: number, rounds: number) {
  const dice = random(seed);
  const secrets: Record<string, string> = {};
  for (const purpose of ["alertmanager", "generic", "telegram"]) {
    secrets[purpose] = (await makeIngestToken(world, account, purpose)).token;
  }
  const paths = { [AM]: "alertmanager", [GENERIC]: "generic", [TELEGRAM]: "telegram" };
  const before = await storedKeys(world);
  for (const known of [false, true]) {
    for (let n = 0; n < rounds; n++) {
      const [path, purpose] = dice.pick(Object.entries(paths));
      const shapes = [
        {
          status: "firing",
          alerts: [anyJson(dice, 2), anyJson(dice, 2)],
          groupKey: anyJson(dice, 5),
        },
        { event: anyJson(dice, 5), payload: anyJson(dice, 1) },
        {
          update_id: dice.below(9),
          message: { from: anyJson(dice, 3), chat: { id: 1 }, text: "/link x" },
        },
        { chat_id: anyJson(dice, 5), message: anyJson(dice, 5) },
      ];
      const value = dice.chance(0.4) ? anyJson(dice) : dice.pick(shapes);
      const raw = JSON.stringify(value) ?? "null";
      const body = dice.chance(0.1) ? raw.slice(0, dice.below(raw.length)) : raw;
      const token = known ? secrets[purpose]! : `svc_ingest_${dice.below(1e9)}`;
      const headers = {
        "content-type": "application/json",
        "x-ingest-token": token,
        "x-telegram-bot-api-secret-token": token,
      };
      const { status, text } = await world.call("POST", path, { body, headers });
      const larger = new TextEncoder().encode(body).length > 16 * 1024;
      const expected = larger && !known ? [413] : [200, 202, 400];
      ok(expected.includes(status), `seed ${seed}: ${path} answered ${text} to ${body}`);
    }
    if (!known) deq(await storedKeys(world), before, `seed ${seed}: stored without a token`);
  }
}

Deno.test("receivers: no input causes an unhandled error, and nothing is stored without a token", async () => {
  const seed = Number(Deno.env.get("SEED") ?? 20_300_101);
  console.log(`seed ${seed}`);
  await using world = await World.open();
  await fuzz(world, await world.signUp(), seed, 400);
  deq(world.logged.filter(({ level }) => level === "error"), []);
});

Deno.test("alertmanager: a repetition within ten minutes is a retry; a later one counts", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world);
  const counts = async () => {
    await notify(world, token.token, NOTIFICATION);
    return (await alertsOf(world, owner)).map(({ count }: { count: number }) => count);
  };
  deq(await counts(), [1]);
  await world.advance(10 * 60_000 - 1);
  deq(await counts(), [1]);
  await world.advance(1);
  deq(await counts(), [2]);
});

Deno.test("ingest tokens: an organization has at most 100, and a deletion allows another", async () => {
  await using world = await World.open();
  const { owner, token } = await setUp(world);
  for (let n = 1; n < 100; n++) await makeIngestToken(world, owner, "alertmanager");
  const another = async () =>
    (await world.call("POST", "/api/v1/ingest-tokens", {
      as: owner.token,
      body: { name: "one more", purpose: "telegram" },
    })).status;
  eq(await another(), 409);
  await world.call("DELETE", `/api/v1/ingest-tokens/${token.id}`, { as: owner.token });
  deq([await another(), await another()], [201, 409]);
});
