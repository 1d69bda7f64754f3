import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { readSent } from "../../../core/agents/alerts/sender_fields.ts";
import { type Account, World } from "../../support/world.ts";
import { alertsOf, makeIngestToken, storedKeys } from "./ingest_fixtures.ts";

const INGEST = "/api/shield/ingest";

type Alert = Record<string, unknown>;

const ingest = (world: World, { token }: Account, alerts: unknown[]) =>
  world.call("POST", INGEST, { as: token, body: { source: "scanner", alerts } });

/** One alert as stored by import, Alertmanager and generic webhook. */
async function byEachWay(alert: Alert): Promise<Alert[]> {
  await using world = await World.open();
  const owner = await world.signUp();
  await ingest(world, owner, [alert]);
  for (const [path, purpose, body] of waysOf(alert)) {
    const { token } = await makeIngestToken(world, owner, purpose);
    eq((await world.call("POST", path, { as: token, body })).status, 202);
  }
  const all = [
    ...await alertsOf(world, owner, "&state=active"),
    ...await alertsOf(world, owner, "&state=resolved"),
  ] as Alert[];
  return ["scanner", "alertmanager", "generic"].map((source) =>
    all.find((each) => each.source === source) ?? {}
  );
}

const waysOf = (alert: Alert): [path: string, purpose: string, body: unknown][] => [
  ["/api/webhooks/alertmanager", "alertmanager", { status: "firing", alerts: [alert] }],
  ["/api/webhooks/generic-alert", "generic", { event: "DiskFull", payload: alert }],
];

Deno.test("alerts: import and webhooks read the same fields, whatever names senders use", async () => {
  const sent = {
    title: "DiskFull",
    id: 4711,
    description: "web-1 has 2 % left",
    timestamp: 1_893_455_999,
    level: "HIGH",
    labels: { host: "web-1", shard: 3, live: true, note: null, agent_id: "agt_1" },
    source_ip: "192.0.2.7",
  };
  for (const alert of await byEachWay(sent)) {
    const { name, fingerprint, severity, state, agent_id, labels, starts_at } = alert;
    const annotations = alert.annotations as Record<string, string>;
    deq({ name, fingerprint, severity, state, agent_id, labels, starts_at }, {
      name: "DiskFull",
      fingerprint: "4711",
      severity: "critical",
      state: "active",
      agent_id: "agt_1",
      labels: { host: "web-1", shard: "3", live: "true", agent_id: "agt_1" },
      starts_at: "2029-12-31T23:59:59.000Z",
    }, `${alert.source}`);
    eq(annotations.description, "web-1 has 2 % left");
    eq(JSON.parse(annotations.payload!).source_ip, "192.0.2.7");
  }
});

Deno.test("alerts: import and webhooks read severities of the common scales in any case", async () => {
  const scales = {
    critical: ["critical", "CRITICAL", "High", "emerg", "ERR", "Major", "P1", "Sev-1", "FATAL"],
    warning: ["Warning", "warn", "MEDIUM", "minor", "p3", "Sev2", "moderate", "Average"],
    info: ["Info", "Informational", "NOTICE", "low", "P5", "sev 3", "debug", "none"],
  };
  for (const [severity, words] of Object.entries(scales)) {
    for (const word of words) {
      const all = await byEachWay({ name: "DiskFull", severity: word });
      deq(all.map((alert) => alert.severity), [severity, severity, severity], word);
    }
  }
});

Deno.test("alerts: import and webhooks read the states of common senders", async () => {
  for (const status of ["Resolved", "OK", "closed"]) {
    const all = await byEachWay({ name: "DiskFull", status });
    deq(all.map(({ state }) => state), ["resolved", "resolved", "resolved"], status);
  }
  for (const status of ["FIRING", "open", "triggered", "quite unknown"]) {
    const all = await byEachWay({ name: "DiskFull", status });
    deq(all.map(({ state }) => state), ["active", "active", "active"], status);
  }
});

Deno.test("alerts: reads instants in every common form, and none where none is given", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const noon = "2029-12-31T12:00:00.000Z";
  const forms: [unknown, string][] = [
    ["2029-12-31T13:00:00+01:00", noon],
    ["2029-12-31T12:00:00", noon],
    ["2029-12-31", "2029-12-31T00:00:00.000Z"],
    [Date.parse(noon), noon],
    [Date.parse(noon) / 1000, noon],
    ["0001-01-01T00:00:00Z", "2030-01-01T00:00:00.000Z"],
    [null, "2030-01-01T00:00:00.000Z"],
  ];
  const alerts = forms.map(([starts_at], n) => ({ name: `${n}`, starts_at }));
  eq((await ingest(world, owner, alerts)).body.accepted, forms.length);
  const shown = (await alertsOf(world, owner)).reverse() as Alert[];
  deq(
    shown.map(({ name, starts_at }) => [name, starts_at]).sort(),
    forms.map(([, at], n) => [`${n}`, at]),
  );
  for (const starts_at of ["yesterday", -1, 1e300, "2029-02-30T00:00:00Z", {}]) {
    const { status, body } = await ingest(world, owner, [{ name: "x", starts_at }]);
    deq([status, body.error.details.issues[0].path], [400, "body.alerts.0"], `${starts_at}`);
  }
});

Deno.test("alerts: a field's own name is strict; an unreadable value under a sender's name is kept in the payload", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const alert = { name: "Slow", level: 30, priority: "P2", status: 200, time: "soon", id: "a" };
  eq((await ingest(world, owner, [{ ...alert, fingerprint: "b" }])).body.accepted, 1);
  const [shown] = await alertsOf(world, owner);
  deq([shown.severity, shown.state, shown.fingerprint], ["critical", "active", "b"]);
  deq(JSON.parse(shown.annotations.payload), { level: 30, status: 200, time: "soon", id: "a" });
});

Deno.test("alerts: excess text is cut, and the alert is kept", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const title = "t".repeat(300), long = "é".repeat(60_000);
  const annotations = Object.fromEntries("abc".split("").map((k) => [k, "y".repeat(4_000)]));
  const sent = { title, description: long, message: long, url: long, more: [long], annotations };
  eq((await ingest(world, owner, [sent])).body.accepted, 1);
  const [{ name, annotations: kept }] = await alertsOf(world, owner);
  deq([name, kept.title], [title.slice(0, 200), title]);
  const chars = Object.entries<string>(kept).reduce((n, [k, v]) => n + k.length + v.length, 0);
  ok(chars <= 16_000, `${chars} characters`);
});

Deno.test("alerts: an import without any readable alert is 400 with each reason, and stores nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const before = await storedKeys(world);
  const alerts = [{}, "text", { name: "x", severity: "dreadful" }];
  const { status, body } = await ingest(world, owner, alerts);
  const { code, message, details } = body.error;
  deq([status, code, details.accepted, details.rejected], [400, "VALIDATION_FAILED", 0, 3]);
  ok(message.includes("Alert 0: name: is missing"), message);
  deq(details.issues.map(({ path }: { path: string }) => path), [
    "body.alerts.0",
    "body.alerts.1",
    "body.alerts.2",
  ]);
  deq(await storedKeys(world), before);
  const many = await ingest(world, owner, Array(10_000).fill({}));
  deq([many.body.error.details.rejected, many.body.error.details.issues.length], [10_000, 100]);
  const none = await ingest(world, owner, []);
  deq([none.status, none.body.accepted, none.body.rejected], [200, 0, 0]);
});

Deno.test("readSent: reads no more fields, labels or annotations than may be kept", () => {
  let looked = 0;
  const counting = (n: number) =>
    new Proxy(Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, at])), {
      get: (target, name) => {
        looked++;
        return Reflect.get(target, name);
      },
    });
  const many = 1_000;
  for (const lenient of [false, true]) {
    const sent = { name: "x", labels: counting(many), annotations: counting(many) };
    readSent(sent, { lenient });
    ok(looked <= 3, `${looked} labels, where those of the table stand for fields`);
    readSent(counting(many), { lenient });
    ok(looked < 300, `${looked} fields`);
    looked = 0;
  }
});
