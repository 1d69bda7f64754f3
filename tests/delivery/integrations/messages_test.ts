import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { OutboundError } from "../../../core/ports/ports.ts";
import { users } from "../../../kv/records/user.ts";
import { eventsOf, exec, linkAgent, type Linked } from "../../support/linked_agent.ts";
import { ManualClock } from "../../support/clock.ts";
import { shared } from "../../support/kv.ts";
import { type Account, World } from "../../support/world.ts";
import { installed, sentTo, shown } from "./fixtures.ts";
import { PagerDutyEvent, SlackMessage, TelegramMessage } from "./schemas.ts";
import { LADDER_MS } from "../../support/ladder.ts";

const RISKY = "systemctl stop nginx # <b>&";
const SLACK = "https://hooks.slack.com/services/T0/B0/abc";
const SLACK_API = "https://slack.com/api/chat.postMessage";
const TELEGRAM = "https://api.telegram.org/bot123456:ABC-def/sendMessage";
const PAGERDUTY = "https://events.pagerduty.com/v2/enqueue";
const KEY = "0123456789abcdef0123456789abcdef";

const openWorld = () => World.open({ settings: { publicUrl: "https://relay.example.com" } });

/** Requests a command that needs approval; returns its process id. */
async function ask(world: World, here: Linked): Promise<string> {
  const { status, body } = await exec(world, here, RISKY);
  eq(status, 202);
  await world.settle();
  return body.approval_id;
}

const reject = async (world: World, pid: string, { token: as }: Account) => {
  const answer = await world.call("POST", `/api/shield/reject/${pid}`, { as, body: {} });
  eq(answer.status, 200);
  await world.settle();
};

/** Where people decide about a request. */
const pageOf = (pid: string) => `https://relay.example.com/console/approvals/${pid}`;

Deno.test("integrations: Slack gets approval requests and their outcome in Block Kit", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const approver = await world.join(here.owner, ["operator"]);
  await installed(world, here.owner, "slack", { webhook_url: SLACK });
  await installed(world, here.owner, "slack", { bot_token: "xoxb-1", channel: "C024BE91L" });
  const pid = await ask(world, here);
  await reject(world, pid, approver);
  const [asked, resolved] = sentTo(world, SLACK);
  for (const { json } of [asked!, resolved!]) SlackMessage.parse(json);
  eq(asked!.method, "POST");
  ok(asked!.headers["content-type"]!.startsWith("application/json"));
  const text = JSON.stringify(asked!.json);
  ok(text.includes(pid) && text.includes(RISKY) && text.includes(here.agent.id));
  eq(asked!.json.blocks.at(-1).elements[0].url, pageOf(pid));
  ok(JSON.stringify(resolved!.json).includes("rejected"));
  const [posted] = sentTo(world, SLACK_API);
  eq(posted!.headers.authorization, "Bearer xoxb-1");
  eq(SlackMessage.parse(posted!.json).channel, "C024BE91L");
});

Deno.test("integrations: one receives events from its installation on, whichever way the clock jumps", async () => {
  for (const jumpMs of [-60_000, 0, 60_000]) {
    await using world = await openWorld();
    const here = await linkAgent(world);
    await installed(world, here.owner, "slack", { webhook_url: SLACK });
    await exec(world, here, "systemctl stop nginx");
    await installed(world, here.owner, "slack", { webhook_url: `${SLACK}2` });
    // A due message waits until a clock that was set back reaches its time again.
    await world.settle();
    world.clock.nowMs += jumpMs;
    await exec(world, here, "systemctl stop sshd");
    await world.settle();
    const sent = sentTo(world, SLACK).map(({ url, body }) =>
      [url, String(body).includes("nginx") ? "nginx" : "sshd"].join(" ")
    );
    deq(sent.sort(), [`${SLACK} nginx`, `${SLACK} sshd`, `${SLACK}2 sshd`]);
  }
});

Deno.test("integrations: Telegram messages have buttons that the receiver understands", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const config = { bot_token: "123456:ABC-def", chat_id: -1001 };
  await installed(world, here.owner, "telegram", config);
  const pid = await ask(world, here);
  const [asked] = sentTo(world, TELEGRAM);
  const { reply_markup, text } = TelegramMessage.parse(asked!.json);
  ok(text.includes("&lt;b&gt;&amp;"));
  deq(reply_markup!.inline_keyboard, [
    [
      { text: "Approve", callback_data: `/approve ${pid}` },
      { text: "Reject", callback_data: `/reject ${pid}` },
    ],
    [{ text: "Open in Relay", url: pageOf(pid) }],
  ]);
});

Deno.test("integrations: Telegram gets no button with a URL that it would reject", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const config = { bot_token: "123456:ABC-def", chat_id: "@ops" };
  await installed(world, here.owner, "telegram", config);
  await ask(world, here);
  const [asked] = sentTo(world, TELEGRAM);
  eq(TelegramMessage.parse(asked!.json).reply_markup!.inline_keyboard.length, 1);
});

Deno.test("integrations: PagerDuty gets a trigger, and a resolve of the same incident", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const approver = await world.join(here.owner, ["operator"]);
  await installed(world, here.owner, "pagerduty", { routing_key: KEY });
  const pid = await ask(world, here);
  await reject(world, pid, approver);
  const [trigger, resolve] = sentTo(world, PAGERDUTY).map(({ json }) => PagerDutyEvent.parse(json));
  deq([trigger!.event_action, resolve!.event_action], ["trigger", "resolve"]);
  ok(trigger!.event_action === "trigger");
  eq(trigger!.client_url, pageOf(pid));
  deq(resolve!.dedup_key, trigger!.dedup_key);
  eq(resolve!.dedup_key, `relay/${pid}`);
  const { owner, agent } = here;
  await exec(world, { owner, agent }, "rm -rf /");
  await world.settle();
  const blocked = PagerDutyEvent.parse(sentTo(world, PAGERDUTY)[2]!.json);
  ok(blocked.event_action === "trigger");
  deq([blocked.payload.severity, blocked.payload.source], ["critical", agent.id]);
});

Deno.test("integrations: the longest values stay within each service's limits", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  await installed(world, here.owner, "slack", { webhook_url: SLACK });
  await installed(world, here.owner, "pagerduty", { routing_key: KEY });
  await installed(world, here.owner, "telegram", { bot_token: "123456:ABC-def", chat_id: 1 });
  const { status } = await exec(world, here, `${RISKY} ${"<😀&".repeat(1500)}`);
  eq(status, 202);
  const alerts = Array.from({ length: 40 }, (_, n) => ({
    name: `${n} ${"&".repeat(180)}`,
    severity: n === 39 ? "critical" : "info",
  }));
  const body = { source: "probe", alerts };
  const { token: as } = here.owner;
  eq((await world.call("POST", "/api/shield/ingest", { as, body })).status, 200);
  await world.settle();
  for (
    const [beginning, schema] of [
      [SLACK, SlackMessage],
      [PAGERDUTY, PagerDutyEvent],
      [TELEGRAM, TelegramMessage],
    ] as const
  ) {
    const sent = sentTo(world, beginning);
    eq(sent.length, beginning === PAGERDUTY ? 21 : 2, beginning);
    for (const { json } of sent) schema.parse(json);
  }
  const [, alarm] = sentTo(world, PAGERDUTY);
  deq([alarm!.json.payload.severity, alarm!.json.payload.summary.slice(0, 4)], [
    "critical",
    "39 &",
  ]);
  eq(sentTo(world, SLACK)[1]!.json.text, "40 new alerts from probe");
});

Deno.test("integrations: Jira gets an issue with a document in its own format", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const config = {
    url: "https://example.atlassian.net/",
    email: "ops@example.com",
    api_token: "token-1",
    project: "OPS",
  };
  await installed(world, here.owner, "jira", config);
  await exec(world, here, "rm -rf /");
  await world.settle();
  const [issue] = sentTo(world, "https://example.atlassian.net/rest/api/3/issue");
  eq(issue!.headers.authorization, `Basic ${btoa("ops@example.com:token-1")}`);
  const { fields } = issue!.json;
  deq([fields.project.key, fields.issuetype.name], ["OPS", "Task"]);
  deq([fields.description.type, fields.description.version], ["doc", 1]);
});

Deno.test("integrations: a generic webhook is signed as Relay's webhooks are", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const secret = "a secret of a hook".replaceAll(" ", "-");
  await installed(world, here.owner, "webhook", { url: "https://in.example.com/x", secret });
  const pid = await ask(world, here);
  const [sent] = sentTo(world, "https://in.example.com/x");
  const { "webhook-id": id, "webhook-timestamp": seconds, ...headers } = sent!.headers;
  const expected = new Webhook(secret, { format: "raw" })
    .sign(id!, new Date(Number(seconds) * 1000), String(sent!.body));
  eq(headers["webhook-signature"], expected);
  deq([sent!.json.event_type, sent!.json.payload.pid], ["approval_requested", pid]);
});

Deno.test("integrations: a failed message is retried with the delays of webhooks, then recorded", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const id = await installed(world, here.owner, "slack", { bot_token: "xoxb-1", channel: "C1" });
  const times: number[] = [];
  world.network.reply = () => {
    times.push(world.clock.now());
    // Slack rejects with 200.
    return times.length === 1
      ? new OutboundError("connect", "refused")
      : { status: 200, body: '{"ok":false,"error":"channel_not_found"}' };
  };
  const key = await world.key(here.owner, ["system:read", "audit:read"]);
  const reader = { ...here.owner, token: key.value }; // which outlives a JWT
  await exec(world, here, "rm -rf /");
  await world.settle();
  deq((await shown(world, reader, id)).last_error, "The service cannot be reached: refused");
  await world.advance(2 * 60 * 60 * 1000);
  const delays = times.slice(1).map((at, n) => at - times[n]!);
  deq(delays, LADDER_MS.slice(0, 4));
  const after = await shown(world, reader, id);
  eq(after.last_error, "Slack says channel_not_found");
  const failed = (await eventsOf(world, reader, id)).at(-1)!;
  deq([failed.event_type, failed.details.attempts, failed.details.what], [
    "integration_failed",
    5,
    "message",
  ]);
});

Deno.test("integrations: another process continues pending events and attempts", async () => {
  const kv = await Deno.openKv(":memory:");
  const clock = new ManualClock();
  const first = await World.open({ kv: shared(kv), clock });
  const here = await linkAgent(first);
  await installed(first, here.owner, "slack", { webhook_url: SLACK });
  first.network.reply = () => 500;
  await exec(first, here, "rm -rf /");
  await first.settle();
  eq(first.network.sent.length, 1);
  await first[Symbol.asyncDispose]();
  clock.advance(60_000);
  await using second = await World.open({ kv, clock, seed: 2 });
  await second.settle();
  eq(second.network.sent.length, 1);
  deq(second.network.sent[0]!.body, first.network.sent[0]!.body);
  await exec(second, { ...here, agent: here.agent }, "rm -rf /", { as: here.key.value });
  await second.settle();
  eq(second.network.sent.length, 2);
});

Deno.test("integrations: Retry-After is respected", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  await installed(world, here.owner, "slack", { webhook_url: SLACK });
  world.network.reply = () =>
    world.network.sent.length > 1 ? 200 : { status: 429, headers: { "retry-after": "300" } };
  await ask(world, here);
  await world.advance(299_999);
  eq(world.network.sent.length, 1);
  await world.advance(1);
  eq(world.network.sent.length, 2);
});

Deno.test("integrations: no event is sent that the installer may no longer read", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const other = await world.join(here.owner, ["owner"]);
  await installed(world, other, "slack", { webhook_url: SLACK });
  await installed(world, here.owner, "webhook", {
    url: "https://in.example.com/reports",
    secret: "sixteen-characters",
    topics: ["reports"],
  });
  const tenant = { org: other.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const user = await tx.get(users, tenant, other.userId);
    tx.put(users, tenant, { ...user!, roles: [] });
  });
  await ask(world, here);
  eq(world.network.sent.length, 0);
});

Deno.test("integrations: each event is sent once, and a deleted integration receives nothing", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  await ask(world, here); // before anything is installed
  const id = await installed(world, here.owner, "slack", { webhook_url: SLACK });
  world.network.reply = () => 500;
  await ask(world, here);
  eq(world.network.sent.length, 1);
  const path = `/api/integrations/${id}`;
  eq((await world.call("DELETE", path, { as: here.owner.token })).status, 204);
  await world.advance(60 * 60 * 1000);
  eq(world.network.sent.length, 1);
});

Deno.test("integrations: characters that hide or reverse a command are escaped", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  await installed(world, here.owner, "slack", { webhook_url: SLACK });
  await installed(world, here.owner, "telegram", { bot_token: "123456:ABC-def", chat_id: 1 });
  eq((await exec(world, here, "systemctl stop \u202e*xnign* \u200b# _x_")).status, 202);
  await world.settle();
  for (const beginning of [SLACK, TELEGRAM]) {
    const text = JSON.stringify(sentTo(world, beginning)[0]!.json);
    ok(!text.includes("\u202e") && !text.includes("\u200b"));
    ok(text.includes("systemctl stop \\\\u{202e}*xnign* \\\\u{200b}# _x_"), text);
  }
});

Deno.test("integrations: only messages shown in full have decision buttons", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  await installed(world, here.owner, "telegram", { bot_token: "123456:ABC-def", chat_id: 1 });
  for (const [length, buttons] of [[1_900, 3], [2_500, 1]] as const) {
    eq((await exec(world, here, `${RISKY} ${"x".repeat(length)}`)).status, 202);
    await world.settle();
    const { text, reply_markup } = TelegramMessage.parse(sentTo(world, TELEGRAM).at(-1)!.json);
    deq(
      [reply_markup!.inline_keyboard.flat().length, text.includes("x…")],
      [buttons, buttons === 1],
    );
  }
});

Deno.test("integrations: no request is sent for an approval that was decided meanwhile", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const approver = await world.join(here.owner, ["operator"]);
  await installed(world, here.owner, "pagerduty", { routing_key: KEY });
  world.network.reply = () => world.network.sent.length > 1 ? 202 : 500;
  const pid = await ask(world, here);
  await reject(world, pid, approver);
  await world.advance(60_000);
  const actions = sentTo(world, PAGERDUTY).map(({ json }) => json.event_action);
  deq(actions, ["trigger", "resolve"]); // the trigger was refused
});

Deno.test("integrations: unreachable ones delay neither each other nor other organizations", async () => {
  await using world = await openWorld();
  const here = await linkAgent(world);
  const there = await linkAgent(world);
  for (let n = 0; n < 40; n++) {
    await installed(world, here.owner, "slack", { webhook_url: `https://dead.example.com/${n}` });
  }
  await installed(world, there.owner, "slack", { webhook_url: SLACK });
  const told = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const dead: string[] = [];
  world.network.reply = async ({ url }) => {
    if (url === SLACK) told.resolve();
    else {
      dead.push(url);
      await release.promise;
    }
    return 500;
  };
  for (let n = 0; n < 2; n++) await exec(world, here, "rm -rf /");
  await exec(world, there, "rm -rf /");
  await world.app.log.flush();
  world.app.integrations.sweep();
  await told.promise;
  // Until each integration has its jobs.
  await world.quiet();
  release.resolve();
  await world.settle();
  // Eight run concurrently, in any order.
  eq(
    new Set(dead.slice(0, 40 + 7)).size,
    40,
    "one had a second turn before others had their first",
  );
  eq(dead.length, 80);
});
