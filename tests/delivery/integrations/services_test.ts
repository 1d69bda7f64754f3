import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { exec, linkAgent } from "../../support/linked_agent.ts";
import { make } from "../../host/compliance_fixtures.ts";
import { World } from "../../support/world.ts";
import { installed, shown } from "./fixtures.ts";
import { type ServiceName, startServices } from "./services.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const topics = ["approvals", "alerts", "reports"];
const SETTINGS = { settings: { publicUrl: "https://relay.example.com" } };

const INSTALLED: readonly (readonly [ServiceName, string, Record<string, unknown>])[] = [
  ["hooks.slack.com", "slack", { webhook_url: "https://hooks.slack.com/services/T0/B0/abc" }],
  ["slack.com", "slack", { bot_token: "xoxb-1", channel: "C024BE91L" }],
  ["events.pagerduty.com", "pagerduty", { routing_key: KEY }],
  ["api.telegram.org", "telegram", { bot_token: "123456:ABC-def", chat_id: -1001 }],
];

Deno.test("integrations: every message to Slack, PagerDuty and Telegram arrives over TLS as documented", async () => {
  await using services = startServices();
  await using world = await World.open(SETTINGS);
  world.network.reply = services.dial;
  const here = await linkAgent(world);
  const { owner } = here;
  const approver = await world.join(owner, ["operator"]);
  const ids: string[] = [];
  for (const [, type, config] of INSTALLED) {
    ids.push(await installed(world, owner, type, { ...config, topics }));
  }
  const waits = await exec(world, here, 'systemctl stop nginx # ä😀 <b>&amp; "\u202e*_`\n');
  eq(waits.status, 202, waits.text);
  await world.settle();
  const rejected = await world.call("POST", `/api/shield/reject/${waits.body.approval_id}`, {
    as: approver.token,
    body: { reason: "not <now>" },
  });
  eq(rejected.status, 200, rejected.text);
  await world.settle();
  eq((await exec(world, here, "rm -rf /")).status, 403);
  const alerts = [{ name: "disk full on ö", severity: "critical" }];
  const body = { source: "probe", alerts };
  const ingested = await world.call("POST", "/api/shield/ingest", { as: owner.token, body });
  eq(ingested.status, 200, ingested.text);
  await make(world, owner, "soc2", "24h");
  await world.settle();
  deq(services.misfits, []);
  for (const [at, [service]] of INSTALLED.entries()) {
    const { last_error, last_used_at } = await shown(world, owner, ids[at]!);
    deq([last_error, last_used_at !== null], [null, true], service);
    const came = services.arrived.filter((each) => each.service === service);
    const texts = came.map(({ json }) => JSON.stringify(json));
    eq(texts.length, 5, service);
    const said = ["ä😀", "not ", "rm -rf /", "disk full on ö", "soc2"];
    if (service === "events.pagerduty.com") said[1] = '"resolve"';
    for (const [n, part] of said.entries()) ok(texts[n]!.includes(part), `${service}: ${texts[n]}`);
  }
});

Deno.test("integrations: a message that a service refuses is an error, whatever its status", async () => {
  await using services = startServices();
  await using world = await World.open(SETTINGS);
  // Each message has a member that its format does not allow.
  world.network.reply = (request) =>
    services.dial({ ...request, body: String(request.body).replace("{", '{"other":1,') });
  const here = await linkAgent(world);
  const ids: string[] = [];
  for (const [, type, config] of INSTALLED) {
    ids.push(await installed(world, here.owner, type, { ...config, topics }));
  }
  eq((await exec(world, here, "rm -rf /")).status, 403);
  await world.settle();
  const errors: string[] = [];
  for (const id of ids) errors.push((await shown(world, here.owner, id)).last_error);
  const answered = "The service answered 400.";
  deq(errors, [answered, "Slack says invalid_blocks", answered, answered]);
  deq([services.arrived.length, services.misfits.length], [0, INSTALLED.length]);
});

Deno.test("integrations: a server without the service's certificate gets neither message nor secret", async () => {
  await using services = startServices();
  await using world = await World.open(SETTINGS);
  world.network.reply = services.dial;
  const here = await linkAgent(world);
  // The certificate does not cover the European name.
  const config = { routing_key: KEY, region: "eu" };
  const id = await installed(world, here.owner, "pagerduty", config);
  eq((await exec(world, here, "rm -rf /")).status, 403);
  await world.settle();
  ok(/TLS handshake failed/.test((await shown(world, here.owner, id)).last_error));
  deq([services.arrived.length, services.misfits.length], [0, 0]);
});
