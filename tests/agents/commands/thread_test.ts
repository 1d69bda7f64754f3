import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { readJournalLine, writeJournalLine } from "../../../core/agents/commands/journal_line.ts";
import { parseConfig } from "../../../core/context/config.ts";
import { commands } from "../../../kv/records/command.ts";
import { pair } from "../../instances/pair.ts";
import { tool } from "../../mcp/client.ts";
import { AGENT_RIGHTS, exec, linkAgent, runsOf } from "../../support/linked_agent.ts";
import { rawRows } from "../../support/raw_rows.ts";
import { StreamClient } from "../../support/stream.ts";
import { type Account, World } from "../../support/world.ts";

/** Needs an approval. */
const HELD = "rm /tmp/../etc/hosts";

/** Imports one alert; returns its id. */
async function raise(world: World, { token }: Account, name = "DiskFull"): Promise<string> {
  const body = { source: "scanner", alerts: [{ name, severity: "critical" }] };
  const { status } = await world.call("POST", "/api/shield/ingest", { as: token, body });
  eq(status, 200);
  const listed = await world.call("GET", "/api/shield/alerts", { as: token });
  return listed.body.alerts.find((alert: { name: string }) => alert.name === name).alert_id;
}

/** The types of the events of a thread, oldest first. */
async function storyOf(world: World, { token }: Account, thread: string): Promise<string[]> {
  await world.settle();
  const { status, body } = await world.call("GET", `/api/audit?thread=${thread}`, { as: token });
  eq(status, 200);
  return body.events.map((event: { event_type: string }) => event.event_type).reverse();
}

Deno.test("thread: one query tells an incident from the alert over approval and commands to the resolution", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const approver = await world.join(here.owner, ["admin"]);
  const { token } = here.owner;
  const other = await raise(world, here.owner, "Other");
  const thread = await raise(world, here.owner);
  const stream = await StreamClient.open(world, token, { query: `?thread=${thread}` });
  eq((await stream.next())?.event, "hello");
  await exec(world, here, "uptime");
  const path = `/api/v1/agents/${here.agent.id}/commands`;
  const body = { command: HELD, alert_id: thread };
  const held = (await world.call("POST", path, { as: token, body })).body;
  deq([held.status, held.alert_id, held.thread], ["pending_approval", thread, thread]);
  const pid = held.approval_id;
  const approved = await world.call("POST", `/api/shield/approve/${pid}`, {
    as: approver.token,
    body: {},
  });
  deq([approved.status, approved.body.alert_id, approved.body.thread], [200, thread, thread]);
  await world.settle();
  const ran = await world.call(
    "GET",
    `/api/exec/${here.agent.id}?command=df&alert_id=${thread}`,
    { as: token },
  );
  deq([ran.status, ran.body.alert_id, ran.body.thread], [200, thread, thread]);
  const args = { agent_id: here.agent.id, command: "hostname", alert_id: thread };
  const called = await tool(world, "run_command", args, { as: here.key.value });
  eq(called.body.result.structuredContent.thread, thread);
  const resolved = await world.call("POST", "/api/shield/resolve", {
    as: token,
    body: { alert_id: thread },
  });
  deq([resolved.status, resolved.body.thread], [200, thread]);
  const story = [
    "alerts_ingested",
    "approval_requested",
    "approval_resolved",
    "command_executed",
    "command_executed",
    "command_executed",
    "alert_resolved",
  ];
  deq(await storyOf(world, here.owner, thread), story);
  deq(await storyOf(world, here.owner, other), ["alerts_ingested"]);
  const csv = await world.call("GET", `/api/audit/export?thread=${thread}`, {
    as: token,
    headers: { accept: "text/csv" },
  });
  // The import belongs to the threads of all alerts that it raised.
  const threads = csv.text.trimEnd().split("\r\n").map((row) => row.split(",").at(-1));
  deq(threads, ["thread", "", ...story.slice(1).map(() => thread)]);
  const tail = await tool(world, "tail_events", { thread, cursor: 0, limit: 200 }, { as: token });
  const tailed = tail.body.result.structuredContent.events;
  deq(tailed.map((event: { event_type: string }) => event.event_type), story);
  const streamed: string[] = [];
  while (streamed.length < 5) {
    const { event, data } = (await stream.next())!;
    eq(data.thread, thread);
    if (event !== "command_started") streamed.push(data.event_type);
  }
  deq(streamed, story.slice(1, 6));
  await stream.cut();
  const shown = await world.call("GET", `${path}/${ran.body.command_id}`, { as: token });
  deq(shown.body.thread, thread);
  const listed = (await world.call("GET", path, { as: token })).body.commands;
  deq(listed.map((command: { thread?: string }) => command.thread), [
    thread,
    thread,
    thread,
    undefined,
  ]);
});

Deno.test("thread: a denied command begins the story of its alert, or belongs to that of the alert that it answers", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const { token } = here.owner;
  const denied = await exec(world, here, "rm -rf /");
  eq(denied.status, 403);
  const { alerts: [alert] } = (await world.call("GET", "/api/shield/alerts", { as: token })).body;
  deq(await storyOf(world, here.owner, alert.thread), ["command_denied"]);
  const incident = await raise(world, here.owner);
  const path = `/api/v1/agents/${here.agent.id}/commands`;
  const body = { command: "rm -rf /", alert_id: incident };
  eq((await world.call("POST", path, { as: token, body })).status, 403);
  deq(await storyOf(world, here.owner, incident), ["alerts_ingested", "command_denied"]);
  deq(await storyOf(world, here.owner, alert.thread), ["command_denied"]);
  const listed = (await world.call("GET", path, { as: token })).body.commands;
  deq(listed.map(({ alert_id, thread }: Record<string, string>) => [alert_id, thread]), [
    [incident, incident],
    [undefined, alert.alert_id],
  ]);
});

Deno.test("thread: an alert of another organization or space is a 404, and nothing is sent or stored", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const stranger = await world.signUp();
  const foreign = await raise(world, stranger);
  const test = await world.key(here.owner, [...AGENT_RIGHTS, "system:read", "system:write"], {
    type: "test",
  });
  const inTest = await raise(world, { ...here.owner, token: test.value });
  const path = `/api/v1/agents/${here.agent.id}/commands`;
  for (const alert_id of [foreign, inTest, "alr_none"]) {
    const body = { command: "rm -rf /", alert_id };
    const started = await world.call("POST", path, { as: here.owner.token, body });
    deq([started.status, started.body.error.code], [404, "NOT_FOUND"]);
    const query = `command=uptime&alert_id=${alert_id}`;
    const ran = await world.call("GET", `/api/exec/${here.agent.id}?${query}`, {
      as: here.owner.token,
    });
    deq([ran.status, ran.body.error.code], [404, "NOT_FOUND"]);
  }
  deq(runsOf(here.agent), []);
  const stored = (await rawRows(world.kv, { org: here.owner.org, space: "live" }))
    .filter(({ kind }) => /^(commands|alerts|approvals|ended_commands)/.test(kind));
  deq(stored, []);
});

Deno.test("thread: a repetition with another alert_id is another call", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const alertId = await raise(world, here.owner);
  const start = (more: Record<string, string>) =>
    world.call("POST", `/api/v1/agents/${here.agent.id}/commands`, {
      as: here.owner.token,
      body: { command: "uptime", ...more },
      headers: { "idempotency-key": "once" },
    });
  const first = await start({ alert_id: alertId });
  const again = await start({ alert_id: alertId });
  eq(again.body.command_id, first.body.command_id);
  eq((await start({})).status, 409);
});

Deno.test("thread: a command keeps its alert at another instance and in the journal of open commands", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  const alertId = await raise(one, owner);
  const query = `command=uptime&alert_id=${alertId}`;
  const { status, body } = await two.call("GET", `/api/exec/${agent.id}?${query}`, {
    as: owner.token,
  });
  deq([status, body.thread], [200, alertId]);
  deq(await storyOf(one, owner, alertId), ["alerts_ingested", "command_executed"]);
  const tenant = { org: owner.org, space: "live" } as const;
  const row = await two.app.store.get(commands, tenant, body.command_id);
  const config = { config: () => parseConfig("{}") };
  const { record } = readJournalLine(writeJournalLine(tenant, row!), config);
  deq([record.alert_id, record.thread], [alertId, alertId]);
});
