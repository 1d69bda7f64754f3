import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { agentName, freeNumber, isAgentName, numberedName } from "../../kv/records/agent.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { pairMachine, rename, show } from "./names_fixtures.ts";

const RIGHTS = ["agents:admin", "agents:read", "agents:write"];

Deno.test("agentName: every text becomes a name of the pattern, and a name stays as it is", () => {
  const names: readonly (readonly [string, string])[] = [
    ["web-1", "web-1"],
    ["web-1.example.com", "web-1.example.com"],
    ["VM", "vm"],
    ["Frankfurt (rack 7)", "frankfurt-rack-7"],
    ["Büro/Zürich", "buro-zurich"],
    ["..web", "web"],
    ["-", "agent"],
    ["日本", "agent"],
    ["web\u202e-1", "web-1"],
    ["agt_0m3xa", "agt-0m3xa"],
    ["AGT_x", "agt-x"],
    ["_agt_x", "agt-x"],
    ["x".repeat(100), "x".repeat(63)],
    [`${"x".repeat(62)} y`, "x".repeat(62)],
  ];
  for (const [text, name] of names) {
    eq(agentName(text), name, text);
    ok(isAgentName(name), name);
    eq(agentName(name), name);
  }
  for (const text of ["", "-a", "A", "a b", "agt_", "agt_1", "x".repeat(64), "a/b"]) {
    eq(isAgentName(text), false, text);
  }
});

Deno.test("freeNumber: finds the next number with few questions, and numbered names keep the length", async () => {
  for (const taken of [0, 1, 2, 3, 7, 8, 999]) {
    let asked = 0;
    const number = await freeNumber("web", (name) => {
      asked++;
      return Number(/\d+$/.exec(name)?.[0] ?? 1) <= taken;
    });
    eq(number, taken + 1);
    ok(asked <= 22, `${asked} questions for ${taken}`);
  }
  eq(numberedName("web", 1), "web");
  const long = numberedName("x".repeat(63), 12);
  deq([long.length, long.endsWith("x-12")], [63, true]);
});

Deno.test("devices.pair: the agent gets the name that it was paired with, not its host name", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { body, credential } = await pairMachine(world, owner, "Server-1");
  eq(body.agent_name, "server-1");
  const agent = await ScriptedAgent.connect(world, credential, { name: "vm" });
  const shown = await show(world, owner, agent.id);
  deq([shown.name, shown.display_name], ["server-1", "Server-1"]);
  const { body: { devices: [device] } } = await world.call("GET", "/api/devices", {
    as: owner.token,
  });
  deq([device.name, device.agent_name, device.agent_id], ["Server-1", "server-1", agent.id]);
});

Deno.test("devices.pair: a second name gets a number at once, and keeps it until its agent is there", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const first = await pairMachine(world, owner, "web-1");
  const second = await pairMachine(world, owner, "web-1");
  deq([first.body.agent_name, second.body.agent_name], ["web-1", "web-1-2"]);
  const { value } = await world.key(owner, RIGHTS);
  const other = await ScriptedAgent.connect(world, value, { name: "web-1" });
  eq((await show(world, owner, other.id)).name, "web-1-3");
  const late = await ScriptedAgent.connect(world, second.credential, { name: "vm" });
  eq((await show(world, owner, late.id)).name, "web-1-2");
  const early = await ScriptedAgent.connect(world, first.credential, { name: "vm" });
  eq((await show(world, owner, early.id)).name, "web-1");
});

Deno.test("devices: a name is free again when its device is deleted or was not confirmed in time", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const deleted = await pairMachine(world, owner, "web-1");
  const path = `/api/devices/${deleted.body.device_id}`;
  eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
  eq((await pairMachine(world, owner, "web-1", false)).body.agent_name, "web-1");
  eq((await pairMachine(world, owner, "web-1", false)).body.agent_name, "web-1-2");
  world.clock.nowMs += 10 * 60_000;
  const again = await pairMachine(world, owner, "web-1");
  eq(again.body.agent_name, "web-1");
  const agent = await ScriptedAgent.connect(world, again.credential);
  eq((await show(world, owner, "web-1")).id, agent.id);
});

Deno.test("devices.pair: a machine that is paired again keeps its name, or takes the new one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const identity = newIdentity();
  const drop = async (id: string) => {
    await world.call("DELETE", `/api/devices/${id}`, { as: owner.token });
    await world.settle();
  };
  const first = await pairMachine(world, owner, "web-1");
  const { id } = await ScriptedAgent.connect(world, first.credential, { identity });
  await drop(first.body.device_id);
  const same = await pairMachine(world, owner, "web-1");
  eq((await ScriptedAgent.connect(world, same.credential, { identity })).id, id);
  eq((await show(world, owner, id)).name, "web-1");
  await drop(same.body.device_id);
  const renamed = await pairMachine(world, owner, "db-1");
  eq((await ScriptedAgent.connect(world, renamed.credential, { identity })).id, id);
  eq((await show(world, owner, id)).name, "db-1");
  eq((await show(world, owner, "db-1")).id, id);
  eq((await pairMachine(world, owner, "web-1")).body.agent_name, "web-1");
});

Deno.test("agents.update: renames an agent, which its next link does not undo, and audits it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const identity = newIdentity();
  const agent = await ScriptedAgent.connect(world, value, { identity, name: "vm 7" });
  deq((await show(world, owner, agent.id)).display_name, "vm 7");
  const { body } = await rename(world, owner, agent.id, "web-1");
  deq([body.id, body.name, body.display_name], [agent.id, "web-1", null]);
  agent.drop();
  await ScriptedAgent.connect(world, value, { identity, name: "vm 7" });
  eq((await show(world, owner, "web-1")).id, agent.id);
  eq((await world.call("GET", "/api/v1/agents/vm-7", { as: owner.token })).status, 404);
  const { body: { events } } = await world.call("GET", "/api/audit?event_type=agent_updated", {
    as: owner.token,
  });
  deq(
    events.map(({ agent_id, actor, details }: Record<string, unknown>) => [
      agent_id,
      actor,
      details,
    ]),
    [[agent.id, owner.userId, {
      name: "web-1",
      previous_name: "vm-7",
    }]],
  );
});

Deno.test("agents.update: a name that another agent has gets a number, and repeating it changes nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const [one, two, three] = await linked(world, value, ["web-1", "b", "c"]);
  deq((await rename(world, owner, two!.id, "web-1")).body.name, "web-1-2");
  deq((await rename(world, owner, three!.id, "web-1")).body.name, "web-1-3");
  deq((await rename(world, owner, three!.id, "web-1")).body.name, "web-1-3");
  deq((await rename(world, owner, one!.id, "web-1")).body.name, "web-1");
  await world.settle();
  eq((await world.trail(owner)).filter((type) => type === "agent_updated").length, 2);
  eq((await world.call("DELETE", "/api/v1/agents/web-1", { as: owner.token })).status, 204);
  const { body } = await rename(world, owner, "web-1-3", "web-1");
  deq([body.id, body.name, body.display_name], [three!.id, "web-1", null]);
});

Deno.test("agents.update: names that do not fit are refused, and nothing is written", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const [agent] = await linked(world, value, ["web-1"]);
  for (const name of ["Web", "", "-a", "agt_1", "a b", "x".repeat(64), 7, null]) {
    const { status, body } = await update(world, owner, agent!.id, { name });
    deq([status, body.error.code], [400, "VALIDATION_FAILED"], String(name));
  }
  eq((await show(world, owner, agent!.id)).name, "web-1");
  eq((await world.trail(owner)).includes("agent_updated"), false);
});

Deno.test("agents.update: the relay's labels override those that the agent reports, and are marked", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const identity = newIdentity();
  const labels = { env: "dev", os: "linux" };
  const { id } = await ScriptedAgent.connect(world, value, { identity, labels });
  const owned = async () => {
    const shown = await show(world, owner, id);
    return [shown.labels, shown.reported_labels, shown.relay_labels];
  };
  const set = await update(world, owner, id, { labels: { env: "prod", team: "ops" } });
  eq(set.status, 200);
  const all = { env: "prod", os: "linux", team: "ops" };
  deq(await owned(), [all, labels, { env: "prod", team: "ops" }]);
  await ScriptedAgent.connect(world, value, { identity, labels: { ...labels, team: "dev" } });
  deq(await owned(), [all, { ...labels, team: "dev" }, { env: "prod", team: "ops" }]);
  await update(world, owner, id, { labels: { env: null, team: null, os: null } });
  deq(await owned(), [{ ...labels, team: "dev" }, { ...labels, team: "dev" }, {}]);
});

Deno.test("agents.update: an agent has at most 32 labels of the relay", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const [agent] = await linked(world, value, ["web-1"]);
  const many = (from: number, to: number, value: string | null = "x") =>
    Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`l${from + n}`, value]));
  const change = (labels: unknown) => update(world, owner, agent!.id, { labels });
  eq((await change(many(0, 32))).status, 200);
  const refused = await change(many(32, 33));
  deq([refused.status, refused.body.error.details.issues[0].path], [400, "body.labels"]);
  match(refused.body.error.message, /33 labels; an agent may have 32/);
  eq((await change({ ...many(0, 32, null), ...many(32, 64) })).status, 200);
  deq(Object.keys((await show(world, owner, agent!.id)).labels).length, 32);
  for (const wrong of [{ "": "x" }, { env: 1 }, { env: "\n" }, many(0, 65)]) {
    eq((await change(wrong)).status, 400);
  }
});

Deno.test("agents.update: a key without agents:admin may not rename", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const [agent] = await linked(world, value, ["web-1"]);
  const weak = await world.key(owner, ["agents:read", "agents:write"]);
  const { status } = await update(world, { ...owner, token: weak.value }, agent!.id, {
    name: "db-1",
  });
  deq([status, (await show(world, owner, agent!.id)).name], [403, "web-1"]);
});

Deno.test("agents.update: renames at once to one name spread over its numbers, each within 7 attempts on average", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const agents = await linked(world, value, Array.from({ length: 60 }, (_, n) => `vm-${n}`));
  let attempts = 0;
  const { store } = world.app;
  const transact = store.transact.bind(store);
  store.transact = (work) => transact((tx) => (attempts++, work(tx)));
  const answers = await Promise.all(
    agents.map(({ id }) => update(world, owner, id, { name: "web" })),
  );
  const names = new Set(answers.map(({ body }) => body.name));
  deq([names.size, [...names].every((name) => /^web(-[0-9]+)?$/.test(name))], [60, true]);
  ok(attempts <= 7 * agents.length, `${attempts} attempts`);
});

const update = (world: World, { token }: Account, agent: string, body: unknown) =>
  world.call("PATCH", `/api/v1/agents/${agent}`, { as: token, body });

const linked = (world: World, key: string, names: readonly string[]) =>
  Promise.all(names.map((name) => ScriptedAgent.connect(world, key, { name })));
