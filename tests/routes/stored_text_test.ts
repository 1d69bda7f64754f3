import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";
import { eventsOf, exec, finish, linkAgent, runsOf } from "../support/linked_agent.ts";

/** What JSON can say and no row of the log can: half a surrogate pair, a number without end, a pit. */
const HALF = '"\\ud800"';
const ENDLESS = "1e999";
const PIT = `${"[".repeat(2_000)}${"]".repeat(2_000)}`;

const json = { "content-type": "application/json" };

Deno.test("bodies: text and values that no row of the log can hold are refused, and write nothing", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const as = here.owner.token;
  const signUp = `"email":"a@example.com","password":"password"`;
  const hook = `"url":"https://x.example","secret":"sixteen characters","events":["agent_created"]`;
  const cases: [string, string, string][] = [
    ["/api/v1/signup", `{${signUp},"organization":${HALF}}`, "body.organization"],
    ["/api/v1/api-keys", `{"name":${HALF},"scopes":["agents:read"]}`, "body.name"],
    ...[HALF, ENDLESS, PIT].map((value): [string, string, string] => [
      "/api/v1/api-keys",
      `{"name":"k","scopes":["agents:read"],"metadata":{"a":${value}}}`,
      "body.metadata",
    ]),
    ...[HALF, ENDLESS, PIT].map((value): [string, string, string] => [
      "/api/audit/event",
      `{"event_type":"note","details":{"a":${value}}}`,
      "body.details",
    ]),
    ["/api/audit/event", `{"event_type":"note","details":{${HALF}:1}}`, "body.details"],
    ["/api/audit/event", `{"event_type":"note","actor":${HALF}}`, "body.actor"],
    ["/api/v1/webhooks", `{"name":${HALF},${hook}}`, "body.name"],
    [`/api/v1/agents/${here.agent.id}/commands`, `{"command":${HALF}}`, "body.command"],
  ];
  const before = (await world.trail(here.owner)).length;
  for (const [path, body, fault] of cases) {
    const answer = await world.call("POST", path, { as, body, headers: json });
    deq([path, answer.status], [path, 400]);
    deq(answer.body.error.details.issues.map((issue: { path: string }) => issue.path), [fault]);
  }
  // A row holds the details one level down.
  const nested = (deep: number) => `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`;
  const note = async (details: string) => {
    const body = `{"event_type":"note","details":${details}}`;
    return (await world.call("POST", "/api/audit/event", { as, body, headers: json })).status;
  };
  eq(await note(nested(64)), 400);
  eq((await world.trail(here.owner)).length, before);
  eq(await note(nested(63)), 201);
  deq(runsOf(here.agent), []);
  eq(world.logged.filter(({ level }) => level === "error").length, 0);
});

Deno.test("bodies: any other text comes back as it was sent", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const text = "naïve — 日本語 🚀 \u2028 \\ \" ' </script>";
  const { body } = await world.call("POST", "/api/v1/api-keys", {
    as: here.owner.token,
    body: { name: text, scopes: ["agents:read"], description: text, metadata: { [text]: text } },
  });
  deq([body.name, body.description, body.metadata], [text, text, { [text]: text }]);
  const [event] = await eventsOf(world, here.owner, body.id);
  eq(event!.details.name, text);
  here.agent.script = () => ({ stdout: text, stderr: text });
  const ran = await exec(world, here, "echo naïve 日本語 🚀");
  eq(ran.body.command, "echo naïve 日本語 🚀");
  deq([ran.body.stdout, ran.body.stderr], [text, text]);
});

Deno.test("link: a frame with text that no row can hold ends the link, and the command's end is on record", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const hello = await ScriptedAgent.connect(world, here.key.value, {
    hello: (own) => ({ ...own, agent: { ...own.agent, name: "\ud800" } }),
  });
  eq(hello.closed?.code, 4400);
  const ends = [
    (id: string) => finish(here.agent, id, { signal: "\ud800" }),
    (id: string) =>
      here.agent.send({ type: "refused", command_id: id, reason: "busy", message: "\ud800" }),
  ];
  for (const end of ends) {
    const agent = here.agent.closed === null
      ? here.agent
      : await ScriptedAgent.connect(world, here.key.value, { identity: here.agent.identity });
    Object.assign(here, { agent });
    agent.script = ({ command_id }) => {
      end(command_id);
      return "silent";
    };
    const { status, body } = await exec(world, here, "uptime");
    deq([status, agent.closed?.code], [502, 4400]);
    const [event] = await eventsOf(world, here.owner, body.error.details.command_id);
    eq(event!.event_type, "command_failed");
  }
});
