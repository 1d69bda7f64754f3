import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { exec, linkAgent } from "../../support/linked_agent.ts";
import { type Account, World } from "../../support/world.ts";
import { installed, sentTo } from "./fixtures.ts";
import { FIRST_RETRY_MS } from "../../support/ladder.ts";

const SLACK = "https://hooks.example.com/slack";
const PAGERDUTY = "https://events.pagerduty.com";
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const KEY = "0123456789abcdef0123456789abcdef";

const ingest = async (
  world: World,
  { token: as }: Account,
  source: string,
  names: readonly string[],
  state = "active",
) => {
  const alerts = names.map((name) => ({ name, severity: "critical", state }));
  const answer = await world.call("POST", "/api/shield/ingest", { as, body: { source, alerts } });
  eq(answer.status, 200, answer.text);
  await world.settle();
};

Deno.test("integrations: all alerts of one severity are sent", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await installed(world, owner, "pagerduty", { routing_key: KEY });
  await ingest(world, owner, "probe", ["first", "second", "third"]);
  const { payload } = sentTo(world, PAGERDUTY)[0]!.json;
  deq(Object.values(payload.custom_details).sort(), [
    "critical: first",
    "critical: second",
    "critical: third",
  ]);
});

Deno.test("integrations: 40 alerts of one event are sent 8 at a time within 10 s, and all arrive in the end", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const id = await installed(world, owner, "pagerduty", { routing_key: KEY });
  const names = (word: string) => Array.from({ length: 20 }, (_, n) => `${word} ${n}`);
  await ingest(world, owner, "probe", names("old"));
  world.network.sent.splice(0);
  let underWay = 0, most = 0, slow = true;
  const deadlines: number[] = [];
  world.network.reply = async ({ deadlineMs }) => {
    if (!slow) return 202;
    most = Math.max(most, ++underWay);
    deadlines.push(deadlineMs);
    await world.clock.sleep(4_000);
    underWay--;
    return 202;
  };
  const alerts = [
    ...names("old").map((name) => ({ name, severity: "critical", state: "resolved" })),
    ...names("new").map((name) => ({ name, severity: "critical", state: "active" })),
  ];
  const body = { source: "probe", alerts };
  eq((await world.call("POST", "/api/shield/ingest", { as: owner.token, body })).status, 200);
  await world.app.log.flush();
  for (const sent of [8, 16, 24]) {
    while (world.network.sent.length < sent) await turn();
    world.clock.advance(4_000);
  }
  await world.settle();
  deq([most, world.network.sent.length], [8, 24]);
  deq([...new Set(deadlines)], [10_000, 6_000, 2_000]);
  const { body: { integrations } } = await world.call("GET", "/api/integrations", {
    as: owner.token,
  });
  eq(
    integrations.find((each: { id: string }) => each.id === id).last_error,
    "The service did not answer in time.",
  );
  slow = false;
  await world.advance(FIRST_RETRY_MS);
  const told = new Set(sentTo(world, PAGERDUTY).map(({ json }) => json.dedup_key));
  eq(told.size, 40);
});

const incidents = (world: World) =>
  sentTo(world, PAGERDUTY).map(({ json }) => [json.event_action, json.dedup_key]);

Deno.test("integrations: each alert is an incident of its own, resolved when it ends and opened again", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const { owner } = here;
  await installed(world, owner, "pagerduty", { routing_key: KEY });
  await ingest(world, owner, "probe", ["disk", "fan"]);
  await ingest(world, owner, "probe", ["disk", "never seen"], "resolved");
  await ingest(world, owner, "probe", ["disk", "fan"]);
  await exec(world, here, "rm -rf /");
  await world.settle();
  const as = owner.token;
  const { body } = await world.call("GET", "/api/shield/alerts", { as });
  const alerts = body.alerts as { alert_id: string; name: string }[];
  for (const { alert_id } of alerts) {
    await world.call("POST", "/api/shield/resolve", { as, body: { alert_id } });
    await world.settle();
  }
  const keyOf = (wanted: string) => `relay/${alerts.find(({ name }) => name === wanted)!.alert_id}`;
  const [disk, fan, denied] = ["disk", "fan", "command_denied"].map(keyOf);
  deq(incidents(world).slice(0, 5), [
    ["trigger", disk],
    ["trigger", fan],
    ["resolve", disk],
    ["trigger", disk],
    ["trigger", denied],
  ]);
  deq(incidents(world).slice(5).sort(), [disk, fan, denied].map((key) => ["resolve", key]).sort());
});

Deno.test("integrations: a late message opens no incident for an alert that has ended", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await installed(world, owner, "pagerduty", { routing_key: KEY });
  world.network.reply = () => 500;
  await ingest(world, owner, "probe", ["disk"]);
  world.network.reply = () => 202;
  await ingest(world, owner, "probe", ["disk"], "resolved");
  await world.advance(60 * 60 * 1000);
  deq(incidents(world).map(([action]) => action), ["trigger", "resolve"]);
});

Deno.test("integrations: a message about alerts counts those opened, or else those ended", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await installed(world, owner, "slack", { webhook_url: SLACK });
  await ingest(world, owner, "probe", ["disk", "fan"]);
  await ingest(world, owner, "probe", ["disk", "never seen"], "resolved");
  await ingest(world, owner, "probe", ["disk", "fan"]);
  await ingest(world, owner, "probe", ["disk", "fan"]);
  await ingest(world, owner, "probe", ["disk", "fan"], "resolved");
  deq(sentTo(world, SLACK).map(({ json }) => json.text), [
    "2 new alerts from probe",
    "1 alert from probe ended",
    "1 new alert from probe",
    "2 alerts from probe ended",
  ]);
});
