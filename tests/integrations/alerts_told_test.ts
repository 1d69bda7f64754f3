import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { exec, linkAgent } from "../areas/fixtures.ts";
import { type Account, World } from "../support/world.ts";
import { installed, sentTo } from "./fixtures.ts";

const SLACK = "https://hooks.example.com/slack";
const PAGERDUTY = "https://events.pagerduty.com";
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

Deno.test("integrations: alerts of one severity are all told", async () => {
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

const incidents = (world: World) =>
  sentTo(world, PAGERDUTY).map(({ json }) => [json.event_action, json.dedup_key]);

Deno.test("integrations: each alert is an incident of its own, resolved when it ends, however, and opened again", async () => {
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

Deno.test("integrations: an incident of an alert that ended meanwhile is not opened late", async () => {
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

Deno.test("integrations: what is told of alerts counts those that opened, and else those that ended", async () => {
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
