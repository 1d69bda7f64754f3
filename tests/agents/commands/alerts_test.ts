import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { type Account, World } from "../../support/world.ts";
import { eventsOf, exec, linkAgent } from "../../support/linked_agent.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

const ingest = (world: World, { token }: Account, alerts: unknown[], source = "scanner") =>
  world.call("POST", "/api/shield/ingest", { as: token, body: { source, alerts } });

const list = async (world: World, { token }: Account, query = "") =>
  (await world.call("GET", `/api/shield/alerts${query}`, { as: token })).body;

const resolve = (world: World, { token }: Account, body: unknown) =>
  world.call("POST", "/api/shield/resolve", { as: token, body });

const disk = (n: number) => ({ name: "DiskFull", labels: { host: `web-${n}` } });

Deno.test("alerts: of 10,000 with 3 malformed, 9,997 are stored and 3 reported by index", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const reports: unknown[] = Array.from({ length: 10_000 }, (_, n) => disk(n));
  reports[17] = { ...disk(17), severity: "dreadful" };
  reports[4_321] = "not an alert";
  reports[9_999] = { labels: {} };
  const { status, body } = await ingest(world, owner, reports);
  deq([status, body.accepted, body.rejected, body.stored, body.created, body.updated], [
    200,
    9_997,
    3,
    9_997,
    9_997,
    0,
  ]);
  deq(body.errors.map((error: { index: number }) => error.index), [17, 4_321, 9_999]);
  ok(body.errors[0].message.startsWith("severity: must be info, warning, critical or a word of"));
  eq((await list(world, owner)).pagination.total, 9_997);
  eq((await list(world, owner, "?text=disk")).pagination.total, 2_000, "a search is bounded");
  const again = await ingest(world, owner, reports);
  deq([again.body.stored, again.body.created, again.body.updated], [9_997, 0, 9_997]);
  eq((await list(world, owner)).pagination.total, 9_997);
  const told = await eventsOf(world, owner, "scanner");
  deq(told.map(({ event_type, details }) => [event_type, details.stored, details.malformed]), [
    ["alerts_ingested", 9_997, 3],
    ["alerts_ingested", 9_997, 3],
  ]);
});

Deno.test("alerts: one alert for a fingerprint, counted, whatever the order of its labels", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const labels = [{ a: "1", b: "2" }, { b: "2", a: "1" }];
  const one = (n: number) => ({ name: "Slow", labels: labels[n]!, severity: "info" });
  await ingest(world, owner, [one(0), one(1)]);
  await world.advance(1_000);
  await ingest(world, owner, [{
    ...one(0),
    severity: "critical",
    annotations: { summary: "now" },
  }]);
  const { alerts: [alert, ...more] } = await list(world, owner);
  deq([more, alert.count, alert.severity], [[], 3, "critical"]);
  deq([alert.first_seen_at, alert.last_seen_at, alert.annotations], [
    "2030-01-01T00:00:00.000Z",
    "2030-01-01T00:00:01.000Z",
    { summary: "now" },
  ]);
  await ingest(world, owner, [{ ...one(0), fingerprint: "given" }]);
  await ingest(world, owner, [one(0)], "other");
  eq((await list(world, owner)).pagination.total, 3);
});

Deno.test("alerts: instances that share a store record the same alert once", async () => {
  await using world = await World.open({ sole: false });
  const owner = await world.signUp();
  const reports = Array.from({ length: 50 }, (_, n) => disk(n));
  const answers = await Promise.all([1, 2, 3].map(() => ingest(world, owner, reports)));
  deq(answers.map(({ status }) => status), [200, 200, 200]);
  eq(answers.reduce((sum, { body }) => sum + body.created, 0), 50);
  const { alerts, pagination } = await list(world, owner, "?limit=200");
  deq([pagination.total, new Set(alerts.map((a: { count: number }) => a.count))], [
    50,
    new Set([3]),
  ]);
});

Deno.test("alerts: an acknowledgement names its person, once, until the alert ended and is reported again", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await ingest(world, owner, [disk(1)]);
  const { alert_id, acknowledged_by } = (await list(world, owner)).alerts[0];
  eq(acknowledged_by, null);
  const acknowledge = (as: Account) =>
    world.call("POST", "/api/shield/acknowledge", {
      as: as.token,
      body: { alert_id, reason: "on it" },
    });
  const done = await acknowledge(owner);
  deq([done.status, done.body.state, done.body.acknowledged_by], [200, "active", owner.userId]);
  const colleague = await world.join(owner, ["admin"]);
  const late = await acknowledge(colleague);
  deq([late.status, late.body.error.details.acknowledged_by], [409, owner.userId]);
  deq((await acknowledge(await world.signUp())).status, 404);
  deq(
    (await eventsOf(world, owner, alert_id)).map(({ event_type, details }) => [
      event_type,
      details.reason,
    ]),
    [["alert_acknowledged", "on it"]],
  );
  await ingest(world, owner, [disk(1)]);
  eq((await list(world, owner)).alerts[0].acknowledged_by, owner.userId);
  eq((await resolve(world, owner, { alert_id })).body.acknowledged_by, owner.userId);
  eq((await acknowledge(owner)).status, 409);
  await ingest(world, owner, [disk(1)]);
  deq(
    (await list(world, owner)).alerts.map((alert: Record<string, unknown>) => [
      alert.acknowledged_at,
      alert.acknowledged_by,
    ]),
    [[null, null]],
  );
});

Deno.test("alerts: the first resolution is recorded with person and reason; a new report reopens the alert", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await ingest(world, owner, [disk(1)]);
  const { alert_id } = (await list(world, owner)).alerts[0];
  const done = await resolve(world, owner, { alert_id, reason: "cleaned up" });
  deq([done.status, done.body.state, done.body.resolved_by, done.body.reason], [
    200,
    "resolved",
    owner.userId,
    "cleaned up",
  ]);
  const twice = await resolve(world, owner, { alert_id });
  deq([twice.status, twice.body.error.code], [409, "CONFLICT"]);
  eq((await list(world, owner)).pagination.total, 0);
  const [told, ...more] = await eventsOf(world, owner, alert_id);
  deq([told!.event_type, told!.details.reason, more], ["alert_resolved", "cleaned up", []]);
  await ingest(world, owner, [disk(1)]);
  const [alert] = (await list(world, owner)).alerts;
  deq([alert.alert_id, alert.state, alert.count, alert.resolved_by, alert.reason], [
    alert_id,
    "active",
    2,
    null,
    null,
  ]);
  const ended = await ingest(world, owner, [{ ...disk(1), state: "resolved" }]);
  deq([ended.body.resolved, (await list(world, owner)).pagination.total], [1, 0]);
});

Deno.test("alerts: a resolved alert is kept for 30 days, one without reports for 90", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["system:read"], { expires_days: 365 });
  const reader = { ...owner, token: key.value };
  await ingest(world, owner, [disk(1), { ...disk(2), state: "resolved" }]);
  const sizes = async () => [
    (await list(world, reader)).alerts.length,
    (await list(world, reader, "?state=resolved")).alerts.length,
  ];
  world.clock.nowMs += 30 * DAY_MS - 1;
  deq(await sizes(), [1, 1]);
  world.clock.nowMs += 1;
  deq(await sizes(), [1, 0]);
  world.clock.nowMs += 60 * DAY_MS - 1;
  deq(await sizes(), [1, 0]);
  world.clock.nowMs += 1;
  deq(await sizes(), [0, 0]);
});

Deno.test("alerts: every combination of filters finds exactly the matching alerts", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const all: Record<string, string>[] = [];
  for (const source of ["one", "two"]) {
    for (const severity of ["info", "critical"]) {
      for (const agent_id of ["agt_1", "agt_2", ""]) {
        for (const state of ["active", "resolved"]) {
          all.push({ source, severity, state, agent_id });
          const named = { name: `${all.length}`, severity, state, agent_id: agent_id || null };
          await ingest(world, owner, [named], source);
          await world.advance(1);
        }
      }
    }
  }
  for (const source of ["", "one", "three"]) {
    for (const severity of ["", "critical"]) {
      for (const agent_id of ["", "agt_2"]) {
        for (const state of ["", "resolved"]) {
          const filter = Object.entries({ source, severity, agent_id, state }).filter(([, v]) => v);
          const wanted = new Map([["state", "active"], ...filter as [string, string][]]);
          const names = all.flatMap((alert, at) =>
            [...wanted].every(([name, value]) => alert[name] === value) ? [`${at + 1}`] : []
          );
          const page = await list(world, owner, `?${new URLSearchParams(filter)}`);
          const found = page.alerts.map((alert: { name: string }) => alert.name);
          deq([found, page.pagination.total], [names.reverse(), names.length]);
        }
      }
    }
  }
});

Deno.test("alerts: a text finds the alerts with it in name, source or summary, ignoring case", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const told = (name: string, more: object = {}) => ({ name, ...more });
  await ingest(world, owner, [
    told("DiskFull", { annotations: { summary: "Nearly 100 % used", runbook: "certificates" } }),
    told("DiskSlow", { severity: "critical", labels: { host: "web-1" } }),
  ], "Nightly-jobs");
  await world.advance(1_000);
  await ingest(world, owner, [told("CertificateExpired")], "scanner");
  const found = async (query: string) => {
    const { alerts, pagination } = await list(world, owner, `?${query}`);
    return [alerts.map(({ name }: { name: string }) => name).sort(), pagination.total];
  };
  deq(await found("text=DISK"), [["DiskFull", "DiskSlow"], 2]);
  deq(await found("text=disk&severity=critical"), [["DiskSlow"], 1]);
  deq(await found("text=nightly"), [["DiskFull", "DiskSlow"], 2]);
  deq(await found("text=100%20%25%20USED"), [["DiskFull"], 1]);
  deq(await found("text=certificate"), [["CertificateExpired"], 1]);
  deq(await found("text=web-1"), [[], 0]);
  deq(await found("text=disk&state=resolved"), [[], 0]);
  const { alerts, pagination } = await list(world, owner, "?text=disk&limit=1&offset=1");
  deq([alerts.length, pagination], [1, { total: 2, limit: 1, offset: 1, has_more: false }]);
});

Deno.test("alerts: a denied command raises one alert for each agent and rule, counted", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  for (let n = 0; n < 3; n++) eq((await exec(world, here, "rm -rf /")).status, 403);
  const { alerts: [alert, ...more] } = await list(world, here.owner, "?source=shield");
  deq([more, alert.count, alert.severity, alert.agent_id], [[], 3, "critical", here.agent.id]);
  const forged = await ingest(world, here.owner, [disk(1)], "shield");
  deq([forged.status, forged.body.error.details.issues[0].path], [400, "body.source"]);
});

Deno.test("alerts: alerts of another organization or space are not found", async () => {
  await using world = await World.open();
  const owner = await world.signUp(), stranger = await world.signUp();
  await ingest(world, owner, [disk(1)]);
  const { alert_id } = (await list(world, owner)).alerts[0];
  const theirs = await resolve(world, stranger, { alert_id });
  const none = await resolve(world, stranger, { alert_id: "alr_none" });
  deq([theirs.status, theirs.body.error.message], [404, none.body.error.message]);
  deq((await list(world, stranger)).alerts, []);
  const headers = { "x-relay-space": "test" };
  const test = await world.call("GET", "/api/shield/alerts", { as: owner.token, headers });
  deq(test.body.alerts, []);
});

Deno.test("alerts: invalid input is reported by index and changes nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const bad: [unknown, string][] = [
    [{ source: "a b", alerts: [] }, "body.source"],
    [{ source: "x" }, "body.alerts"],
    [{ source: "x", alerts: {} }, "body.alerts"],
    [{ source: "x", alerts: Array(10_001).fill({ name: "x" }) }, "body.alerts"],
  ];
  for (const [body, path] of bad) {
    const answer = await world.call("POST", "/api/shield/ingest", { as: owner.token, body });
    deq([answer.status, answer.body.error.details.issues[0].path], [400, path]);
  }
  const items: [unknown, string][] = [
    [null, "Invalid input"],
    [{ name: "" }, "name"],
    [{ name: "\ud800" }, "name: must not hold unpaired surrogates"],
    [{ name: "x", labels: { a: [] } }, "labels.a"],
    [{ name: "x", labels: { "": "y" } }, "labels"],
    [{ name: "x", fingerprint: {} }, "fingerprint"],
    [{ name: "x", severity: 3 }, "severity: must be info"],
    [{ name: "x", state: "perhaps" }, "state: must be active"],
    [{ name: "x", starts_at: "yesterday" }, "starts_at"],
    [{ surprise: true }, "name: is missing"],
    [{ name: "x", annotations: { a: "y".repeat(4_001) } }, "annotations.a"],
    [
      {
        name: "x",
        annotations: Object.fromEntries("abcde".split("").map((k) => [k, "y".repeat(4e3)])),
      },
      "labels and annotations must hold at most",
    ],
  ];
  const malformed = items.map(([item]) => item);
  const { body } = await ingest(world, owner, [...malformed, disk(1)]);
  deq([body.accepted, body.rejected], [1, items.length]);
  for (const [at, [, start]] of items.entries()) {
    eq(body.errors[at].index, at);
    eq(body.errors[at].message.slice(0, start.length), start);
  }
  eq((await list(world, owner)).pagination.total, 1);
});

Deno.test("alerts: one is read by its id, and another organization's is not found", async () => {
  await using world = await World.open();
  const [owner, stranger] = [await world.signUp(), await world.signUp()];
  await ingest(world, owner, [disk(1)]);
  const { alerts: [alert] } = await list(world, owner);
  const read = (token: string) =>
    world.call("GET", `/api/shield/alerts/${alert.alert_id}`, { as: token });
  deq((await read(owner.token)).body, alert);
  eq((await read(stranger.token)).status, 404);
});
