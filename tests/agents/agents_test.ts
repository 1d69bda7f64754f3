import { deepStrictEqual as deq, notStrictEqual, strictEqual as eq } from "node:assert/strict";
import { type HelloFrame, isOlder } from "../../core/protocol/protocol.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";

const RIGHTS = ["agents:admin", "agents:read"];

const show = async (world: World, { token }: Account, id: string) =>
  (await world.call("GET", `/api/v1/agents/${id}`, { as: token })).body;

/** The events of an agent, oldest first: each type with its details. */
async function eventsOf(world: World, { token }: Account, id: string) {
  await world.settle();
  const { body } = await world.call("GET", `/api/audit?resource_id=${id}`, { as: token });
  return body.events.reverse()
    .map((event: { event_type: string; details: unknown }) => [event.event_type, event.details]);
}

const typesOf = async (world: World, account: Account, id: string) =>
  (await eventsOf(world, account, id)).map(([type]: [string]) => type);

Deno.test("agents: the first contact registers an agent with its own description", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, RIGHTS);
  const agent = await ScriptedAgent.connect(world, key.value, { labels: { env: "prod" } });
  const facts = {
    name: "web-1",
    version: "1.0.0",
    platform: "linux-x86_64",
    hostname: "web-1.example.com",
    labels: { env: "prod" },
  };
  deq(await show(world, owner, agent.id), {
    id: agent.id,
    ...facts,
    outdated: false,
    program: null,
    capabilities: [],
    display_name: null,
    reported_labels: { env: "prod" },
    relay_labels: {},
    status: "online",
    reported_status: null,
    last_seen_at: "2030-01-01T00:00:00.000Z",
    connected_at: "2030-01-01T00:00:00.000Z",
    policy_version: null,
    created_at: "2030-01-01T00:00:00.000Z",
  });
  deq(await eventsOf(world, owner, agent.id), [
    ["agent_created", { ...facts, user: key.id }],
    ["agent_connected", facts],
  ]);
  const uses = await world.call("GET", `/api/audit?resource_id=${key.id}`, { as: owner.token });
  deq(uses.body.events[0].details, { endpoint: "GET /ws", status: 101 });
});

Deno.test("agents: a reconnecting agent keeps its record and its name and updates its description", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const identity = await newIdentity();
  const first = await ScriptedAgent.connect(world, value, { identity });
  first.drop();
  await world.settle();
  const away = await show(world, owner, first.id);
  deq([away.status, away.connected_at], ["offline", "2030-01-01T00:00:00.000Z"]);
  await world.advance(5_000);
  const second = await ScriptedAgent.connect(world, value, {
    identity,
    name: "web-2",
    labels: { env: "test" },
  });
  eq(second.id, first.id);
  const back = await show(world, owner, first.id);
  deq([back.name, back.labels, back.status, back.connected_at], [
    "web-1",
    { env: "test" },
    "online",
    "2030-01-01T00:00:05.000Z",
  ]);
  deq(await typesOf(world, owner, first.id), [
    "agent_created",
    "agent_connected",
    "agent_disconnected",
    "agent_connected",
  ]);
  const { body } = await world.call("GET", "/api/agents", { as: owner.token });
  eq(body.pagination.total, 1);
});

Deno.test("agents: an agent's capabilities are those that it reported with its newest link", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const identity = await newIdentity();
  const cases = [
    [{}, []],
    [{ program: { form: "bundle" } }, ["upgrade"]],
    [{ program: { form: "executable" }, verdict_key: null }, ["upgrade", "key_handover"]],
    [{ program: { form: "source" }, verdict_key: null }, ["key_handover"]],
    [{}, []],
  ] as const;
  for (const [told, capabilities] of cases) {
    const agent = await ScriptedAgent.connect(world, value, {
      identity,
      hello: (hello) => ({ ...hello, ...told }),
    });
    deq((await show(world, owner, agent.id)).capabilities, capabilities);
  }
});

Deno.test("agents: a second link replaces the first, which is closed and changes nothing more", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const identity = await newIdentity();
  const first = await ScriptedAgent.connect(world, value, { identity });
  const second = await ScriptedAgent.connect(world, value, { identity });
  deq([second.id, first.closed?.code, second.closed], [first.id, 4409, null]);
  first.drop();
  first.sendRaw("{");
  await world.settle();
  eq((await show(world, owner, first.id)).status, "online");
  const events = await eventsOf(world, owner, first.id);
  deq(events.slice(2).map(([type]: [string]) => type), ["agent_disconnected", "agent_connected"]);
  deq(events[2][1], { name: "web-1", reason: "replaced" });
});

Deno.test("agents: another credential cannot claim an agent, and the attempt is recorded", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [mine, other] = [await world.key(owner, RIGHTS), await world.key(owner, RIGHTS)];
  const identity = await newIdentity();
  const agent = await ScriptedAgent.connect(world, mine.value, { identity });
  const thief = await ScriptedAgent.connect(world, other.value, { identity });
  deq([thief.closed?.code, thief.id, agent.closed], [4403, "", null]);
  deq((await eventsOf(world, owner, agent.id)).at(-1), [
    "agent_credential_refused",
    { name: "web-1", credential: other.id },
  ]);
  eq((await show(world, owner, agent.id)).status, "online");
});

Deno.test("agents: another key may take over an agent whose key is revoked, deleted or expired", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = owner.token;
  const ends: ((id: string) => Promise<unknown>)[] = [
    (id) => world.call("POST", `/api/v1/api-keys/${id}/revoke`, { as }),
    (id) => world.call("DELETE", `/api/v1/api-keys/${id}`, { as }),
    () => Promise.resolve(world.clock.nowMs += 24 * 60 * 60 * 1000),
  ];
  for (const end of ends) {
    const mine = await world.key(owner, RIGHTS, { expires_days: 1 });
    const other = await world.key(owner, RIGHTS);
    const identity = await newIdentity();
    const agent = await ScriptedAgent.connect(world, mine.value, { identity });
    await end(mine.id);
    const heir = await ScriptedAgent.connect(world, other.value, { identity });
    deq([heir.id, heir.closed], [agent.id, null]);
    heir.drop();
  }
});

Deno.test("agents: one program in two organizations is two agents", async () => {
  await using world = await World.open();
  const [one, two] = [await world.signUp(), await world.signUp()];
  const identity = await newIdentity();
  const first = await ScriptedAgent.connect(world, (await world.key(one, RIGHTS)).value, {
    identity,
  });
  const second = await ScriptedAgent.connect(world, (await world.key(two, RIGHTS)).value, {
    identity,
  });
  notStrictEqual(first.id, second.id);
  deq([first.closed, second.closed], [null, null]);
});

Deno.test("agents.delete: closes the link, removes the agent, and the next contact registers another", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const identity = await newIdentity();
  const agent = await ScriptedAgent.connect(world, value, { identity });
  const path = `/api/v1/agents/${agent.id}`;
  eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
  await world.settle();
  eq(agent.closed?.code, 4410);
  for (const method of ["GET", "DELETE"]) {
    const { status, body } = await world.call(method, path, { as: owner.token });
    deq([status, body.error.code], [404, "AGENT_NOT_FOUND"]);
  }
  const events = await eventsOf(world, owner, agent.id);
  deq(events.slice(2), [["agent_deleted", { name: "web-1", user: owner.userId }]]);
  const next = await ScriptedAgent.connect(world, value, { identity });
  notStrictEqual(next.id, agent.id);
  eq((await world.call("GET", "/api/agents", { as: owner.token })).body.pagination.total, 1);
});

Deno.test("agents.restart: orders a linked agent to restart, and refuses without a link", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const agent = await ScriptedAgent.connect(world, (await world.key(owner, RIGHTS)).value);
  const restart = () =>
    world.call("POST", `/api/v1/agents/${agent.id}/restart`, { as: owner.token });
  const answer = await restart();
  deq([answer.status, answer.body.id], [200, agent.id]);
  await world.settle();
  deq(agent.received.at(-1), { type: "restart" });
  agent.drop();
  await world.settle();
  const { status, body } = await restart();
  deq([status, body.error.code, body.error.details.agent_id], [409, "AGENT_OFFLINE", agent.id]);
  const types = await typesOf(world, owner, agent.id);
  deq(types.filter((type: string) => type === "agent_restart_requested").length, 1);
});

Deno.test("heartbeat: a report by anybody is stored apart and does not count as contact", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const agent = await ScriptedAgent.connect(world, (await world.key(owner, RIGHTS)).value);
  agent.drop();
  await world.settle();
  const before = await show(world, owner, agent.id);
  const types = await typesOf(world, owner, agent.id);
  await world.advance(1_000);
  const body = { agent_id: agent.id, status: "error" };
  const answer = await world.call("POST", "/api/v1/heartbeat", { body });
  deq([answer.status, answer.body], [202, {
    ...body,
    verified: false,
    received_at: "2030-01-01T00:00:01.000Z",
  }]);
  deq(await show(world, owner, agent.id), { ...before, reported_status: "error" });
  deq(await typesOf(world, owner, agent.id), types);
  for (const wrong of [{ agent_id: agent.id, status: "fine" }, { agent_id: "", status: "ok" }]) {
    eq((await world.call("POST", "/api/v1/heartbeat", { body: wrong })).status, 400);
  }
  const missing = { agent_id: "agt_missing", status: "ok" };
  eq((await world.call("POST", "/api/v1/heartbeat", { body: missing })).status, 404);
});

Deno.test("agents.list: finds agents of the tenant by name and label combined", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const known: [name: string, labels: Record<string, string>][] = [
    ["web-1", { env: "prod", role: "a=b,c" }],
    ["web-2", { env: "prod" }],
    ["web-3", { env: "staging" }],
  ];
  for (const [name, labels] of known) await ScriptedAgent.connect(world, value, { name, labels });
  const stranger = await world.signUp();
  await ScriptedAgent.connect(world, (await world.key(stranger, RIGHTS)).value, { name: "web-1" });
  const found = async (query: string) => {
    const { body } = await world.call("GET", `/api/agents?${query}`, { as: owner.token });
    const { total, has_more } = body.pagination;
    return [
      body.agents.map((agent: { labels: { env: string } }) => agent.labels.env),
      total,
      has_more,
    ];
  };
  deq(await found("name=web-3"), [["staging"], 1, false]);
  deq(await found("name=web"), [[], 0, false]);
  deq(await found("label=env=prod"), [["prod", "prod"], 2, false]);
  deq(await found("label=env=prod&limit=1&offset=1"), [["prod"], 2, false]);
  deq(await found("label=env=prod&limit=1"), [["prod"], 2, true]);
  deq(await found("label=role=a%3Db,c&name=web-1"), [["prod"], 1, false]);
  deq(await found("label=env=prod&status=offline"), [[], 0, false]);
  deq(await found("label=constructor="), [[], 0, false]);
  for (const wrong of ["label=env", "label==prod", "name="]) {
    eq((await world.call("GET", `/api/agents?${wrong}`, { as: owner.token })).status, 400, wrong);
  }
});

Deno.test("agents.list: pages agents in the order of registration, by status, on both paths", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const agents: ScriptedAgent[] = [];
  for (let n = 0; n < 5; n++) {
    agents.push(await ScriptedAgent.connect(world, value, { name: `web-${n}` }));
  }
  agents[1]!.drop();
  agents[3]!.drop();
  await world.settle();
  for (const path of ["/api/agents", "/api/v1/agents"]) {
    const list = async (query: string) => {
      const { body } = await world.call("GET", `${path}${query}`, { as: owner.token });
      const { total, has_more } = body.pagination;
      return [body.agents.map(({ name }: { name: string }) => name), total, has_more];
    };
    deq(await list(""), [["web-0", "web-1", "web-2", "web-3", "web-4"], 5, false]);
    deq(await list("?limit=2&offset=2"), [["web-2", "web-3"], 5, true]);
    deq(await list("?status=offline"), [["web-1", "web-3"], 2, false]);
    deq(await list("?status=online&limit=2"), [["web-0", "web-2"], 3, true]);
    deq(await list("?status=degraded"), [[], 0, false]);
  }
});

Deno.test("agents: links of a crashed relay are recorded as closed once, after 60 s", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const owner = await dead.signUp();
  const { value } = await dead.key(owner, RIGHTS);
  const identity = await newIdentity();
  const lost = await ScriptedAgent.connect(dead, value, { name: "lost" });
  const back = await ScriptedAgent.connect(dead, value, { name: "back", identity });
  await dead.settle();
  await using world = await World.open({ kv, seed: 2 });
  await ScriptedAgent.connect(world, value, { name: "back", identity });
  await world.advance(59_999);
  eq((await show(world, owner, lost.id)).status, "online");
  await world.advance(1);
  eq((await show(world, owner, lost.id)).status, "offline");
  await world.advance(120_000);
  deq((await eventsOf(world, owner, lost.id)).slice(2), [
    ["agent_disconnected", { name: "lost", reason: "relay_lost" }],
  ]);
  const others = await typesOf(world, owner, back.id);
  deq(others.slice(2, 4), ["agent_disconnected", "agent_connected"]);
});

Deno.test("agents: a link that another relay replaced no longer changes the agent's record", async () => {
  const kv = await Deno.openKv(":memory:");
  await using one = await World.open({ kv, sole: false });
  const owner = await one.signUp();
  const { value } = await one.key(owner, RIGHTS);
  const identity = await newIdentity();
  const old = await ScriptedAgent.connect(one, value, { identity });
  await one.settle();
  await using two = await World.open({ kv: shared(kv), sole: false, clock: one.clock, seed: 2 });
  const now = await ScriptedAgent.connect(two, value, { identity });
  old.send({ type: "heartbeat", status: "error" });
  await one.settle();
  old.drop();
  await one.settle();
  eq((await show(two, owner, now.id)).status, "online");
  deq((await typesOf(two, owner, now.id)).slice(2), ["agent_disconnected", "agent_connected"]);
});

Deno.test("isOlder: numbers are compared as numbers, and other versions have no order", () => {
  const pairs = [["0.9.9", "0.10.0"], ["0.1.9", "1.0.0"], ["0.1.0", "0.1.1"]] as const;
  for (const [low, high] of pairs) deq([isOlder(low, high), isOlder(high, low)], [true, false]);
  for (const text of ["", "1.0", "1.0.0-rc.1", "v9.0.0", "0.1.0"]) {
    eq(isOlder("0.1.0", text), false);
  }
});

Deno.test("agents: an agent of an earlier version than the relay's is outdated, and lists can select it, or by a text", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, RIGHTS);
  const hello = (own: HelloFrame) => ({ ...own, agent: { ...own.agent, version: "0.0.9" } });
  await ScriptedAgent.connect(world, key.value, { name: "new" });
  await ScriptedAgent.connect(world, key.value, { name: "old", hello });
  const namesOf = async (query: string) => {
    const { body } = await world.call("GET", `/api/v1/agents${query}`, { as: owner.token });
    return [body.agents.map(({ name }: { name: string }) => name), body.pagination.total];
  };
  deq(await namesOf(""), [["new", "old"], 2]);
  deq(await namesOf("?outdated=true"), [["old"], 1]);
  deq(await namesOf("?outdated=false"), [["new"], 1]);
  deq((await show(world, owner, "old")).outdated, true);
  deq(await namesOf("?text=OL"), [["old"], 1]);
  deq(await namesOf("?text=ol&outdated=false"), [[], 0]);
});
