import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../../support/agent.ts";
import { AGENT_RIGHTS } from "../../support/linked_agent.ts";
import { World } from "../../support/world.ts";
import { installed, sentTo } from "./fixtures.ts";
import { PagerDutyEvent, SlackMessage, TelegramMessage } from "./schemas.ts";

const SLACK = "https://hooks.slack.com/services/T0/B0/abc";
const TELEGRAM = "https://api.telegram.org/bot123456:ABC-def/sendMessage";
const PAGERDUTY = "https://events.pagerduty.com/v2/enqueue";

Deno.test("integrations: a request for many agents names the first ten within every service's limits", async () => {
  await using world = await World.open({ settings: { publicUrl: "https://relay.example.com" } });
  const owner = await world.signUp();
  const { value } = await world.key(owner, AGENT_RIGHTS);
  const names = Array.from(
    { length: 12 },
    (_, n) => `${String.fromCharCode(97 + n)}${"x".repeat(62)}`,
  );
  for (const name of names) await ScriptedAgent.connect(world, value, { name });
  await installed(world, owner, "slack", { webhook_url: SLACK });
  await installed(world, owner, "pagerduty", { routing_key: "0123456789abcdef0123456789abcdef" });
  await installed(world, owner, "telegram", { bot_token: "123456:ABC-def", chat_id: 1 });
  const hook = "https://in.example.com/x";
  await installed(world, owner, "webhook", { url: hook, secret: "a-secret-of-a-hook" });
  const command = `systemctl stop nginx # ${"&".repeat(450)}`;
  const ask = (body: Record<string, unknown>) =>
    world.call("POST", "/api/v1/commands", { as: owner.token, body: { command, ...body } });
  eq((await ask({ all: true })).status, 202);
  await world.settle();
  const shown = `${names.slice(0, 10).join(", ")} and 2 more`;
  SlackMessage.parse(sentTo(world, SLACK)[0]!.json);
  const telegram = TelegramMessage.parse(sentTo(world, TELEGRAM)[0]!.json);
  eq(telegram.reply_markup!.inline_keyboard.length, 2);
  PagerDutyEvent.parse(sentTo(world, PAGERDUTY)[0]!.json);
  for (const address of [SLACK, TELEGRAM, PAGERDUTY, hook]) {
    ok(JSON.stringify(sentTo(world, address)[0]!.json).includes(shown), address);
  }
  eq((await ask({ names: names.slice(0, 2) })).status, 202);
  await world.settle();
  const { facts, payload } = sentTo(world, hook)[1]!.json;
  deq([facts.Agents, payload.agents, payload.agent_names], [
    names.slice(0, 2).join(", "),
    2,
    names.slice(0, 2),
  ]);
});
