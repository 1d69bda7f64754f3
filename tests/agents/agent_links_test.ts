import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { AgentReportLimiter } from "../../core/agents/links/report_limiter.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { users } from "../../kv/records/user.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import {
  type AgentFrame,
  MAX_AGENT_FRAME_BYTES,
  MAX_HELLO_BYTES,
} from "../../core/protocol/protocol.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { finish, revokeElsewhere } from "../support/linked_agent.ts";

const RIGHTS = ["agents:admin", "agents:read"];
const DAY_MS = 24 * 60 * 60 * 1000;

/** A world with one organization and one linked agent. */
async function linked(world: World) {
  const owner = await world.signUp();
  const key = await world.key(owner, RIGHTS, { expires_days: 1 });
  const agent = await ScriptedAgent.connect(world, key.value);
  return { owner, key, agent };
}

async function statusOf(world: World, { token }: Account, id: string): Promise<string> {
  await world.settle();
  return (await world.call("GET", `/api/v1/agents/${id}`, { as: token })).body.status;
}

async function reasonsOf(world: World, { token }: Account, id: string): Promise<string[]> {
  await world.settle();
  const path = `/api/audit?resource_id=${id}&event_type=agent_disconnected`;
  const { body } = await world.call("GET", path, { as: token });
  return body.events.map((event: { details: { reason: string } }) => event.details.reason);
}

Deno.test("link: a malformed, forged, early or oversized hello is refused and registers no agent", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, RIGHTS);
  const cases: [string, (hello: Record<string, unknown>) => unknown, number][] = [
    ["another signature", (hello) => ({ ...hello, signature: "A".repeat(86) }), 4403],
    ["another key", (hello) => ({ ...hello, public_key: "A".repeat(43) }), 4403],
    ["a short signature", (hello) => ({ ...hello, signature: "AAAA" }), 4400],
    ["no facts", ({ agent: _, ...hello }) => hello, 4400],
    ["too many labels", (hello) => ({
      ...hello,
      agent: {
        ...hello.agent as object,
        labels: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`l${n}`, ""])),
      },
    }), 4400],
    ["a line break in the name", (hello) => ({
      ...hello,
      agent: { ...hello.agent as object, name: "a\nb" },
    }), 4400],
    ["another frame first", () => ({ type: "heartbeat", status: "ok" }), 4422],
    ["more than 16 KiB", (hello) => ({ ...hello, padding: "x".repeat(MAX_HELLO_BYTES) }), 4413],
  ];
  for (const [what, hello, code] of cases) {
    const agent = await ScriptedAgent.connect(world, value, { hello: hello as never });
    eq(agent.closed?.code, code, what);
  }
  await world.settle();
  const { body } = await world.call("GET", "/api/agents", { as: owner.token });
  eq(body.pagination.total, 0);
  deq((await world.trail(owner)).filter((type) => type.startsWith("agent_")), []);
});

Deno.test("link: no challenge repeats, so an old signature is useless", async () => {
  await using world = await World.open();
  const { value } = await world.key(await world.signUp(), RIGHTS);
  let recorded: unknown;
  await ScriptedAgent.connect(world, value, { hello: (hello) => recorded = hello });
  const replay = await ScriptedAgent.connect(world, value, { hello: () => recorded });
  eq(replay.closed?.code, 4403);
});

Deno.test("link: a link without a hello within 10 s is closed", async () => {
  await using world = await World.open();
  const { value } = await world.key(await world.signUp(), RIGHTS);
  const agent = await ScriptedAgent.open(world, value, { hello: () => null });
  await world.advance(9_999);
  deq([agent.closed], [null]);
  await world.advance(1);
  eq(agent.closed?.code, 4408);
});

Deno.test("link: a malformed frame closes only its own link, with its code", async () => {
  await using world = await World.open();
  const { owner, key, agent: bystander } = await linked(world);
  const cases: [string, string, number | null][] = [
    ["not JSON", "{", 4400],
    ["not an object", "[]", 4400],
    ["no type", "{}", 4400],
    ["a wrong field", '{"type":"heartbeat","status":"fine"}', 4400],
    ["a second hello", '{"type":"hello"}', 4400],
    ["more than 256 KiB", `"${"x".repeat(MAX_AGENT_FRAME_BYTES)}"`, 4413],
    ["more than 256 KiB of UTF-8", `"${"é".repeat(MAX_AGENT_FRAME_BYTES / 2)}"`, 4413],
    ["a type of a later version", '{"type":"telemetry","cpu":1}', null],
    ["a type that every object has", '{"type":"toString"}', null],
    [
      "output of a command that never was",
      JSON.stringify({
        type: "output",
        command_id: "cmd_none",
        stream: "stdout",
        data: "x",
      }),
      null,
    ],
  ];
  for (const [what, frame, code] of cases) {
    const agent = await ScriptedAgent.connect(world, key.value, { name: "web-2" });
    agent.sendRaw(frame);
    eq(agent.closed?.code ?? null, code, what);
    if (code === null) finish(agent, "cmd_none");
    eq(await statusOf(world, owner, agent.id), code === null ? "online" : "offline", what);
  }
  deq([bystander.closed, await statusOf(world, owner, bystander.id)], [null, "online"]);
});

Deno.test("link: a link that is silent for 60 s is closed, and its agent goes offline", async () => {
  await using world = await World.open();
  const { owner, agent } = await linked(world);
  await world.advance(30_000);
  agent.send({ type: "heartbeat", status: "ok" });
  await world.advance(59_999);
  deq([agent.closed, await statusOf(world, owner, agent.id)], [null, "online"]);
  await world.advance(1);
  deq([agent.closed!.code, await statusOf(world, owner, agent.id)], [1001, "offline"]);
  deq(await reasonsOf(world, owner, agent.id), ["heartbeat_lost"]);
});

Deno.test("link: a heartbeat is answered and counts as contact; only a change of health writes an event", async () => {
  await using world = await World.open();
  const { owner, agent } = await linked(world);
  const seen: string[] = [];
  for (const status of ["ok", "degraded", "error", "ok", "ok"] as const) {
    await world.advance(20_000);
    agent.send({ type: "heartbeat", status });
    deq(agent.received.at(-1), { type: "heartbeat_ack" });
    seen.push(await statusOf(world, owner, agent.id));
  }
  deq(seen, ["online", "degraded", "degraded", "online", "online"]);
  const path = `/api/audit?event_type=agent_health_changed&resource_id=${agent.id}`;
  const { body } = await world.call("GET", path, { as: owner.token });
  deq(body.events.map((event: { details: unknown }) => event.details), [
    { name: "web-1", from: "degraded", to: "online" },
    { name: "web-1", from: "online", to: "degraded" },
  ]);
  const shown = await world.call("GET", `/api/v1/agents/${agent.id}`, { as: owner.token });
  eq(shown.body.last_seen_at, "2030-01-01T00:01:40.000Z");
});

Deno.test("AgentReportLimiter: one answer a question is free, other reports are limited to 60 a minute", () => {
  const limiter = new AgentReportLimiter();
  const asked = { inspected: 100, policyVersion: "b".repeat(16) };
  const take = (frame: unknown, nowMs = 0) => limiter.take(frame as AgentFrame, asked, nowMs);
  for (let serial = 1; serial <= 100; serial++) ok(take({ type: "state", serial }));
  const held = { type: "policy_held", policy_version: asked.policyVersion };
  ok(take(held));
  for (let n = 0; n < 20; n++) {
    ok(take({ type: "state", serial: 100 }));
    ok(take({ type: "state", serial: 101 }));
    ok(take(held));
  }
  ok(!take({ type: "heartbeat" }));
  ok(take({ type: "output" }));
  ok(take({ type: "heartbeat" }, 60_000));
  // A clock that jumps back begins a new minute.
  for (let n = 0; n < 60; n++) ok(take({ type: "heartbeat" }, n));
});

Deno.test("link: an agent with more than 60 unsolicited reports a minute is disconnected", async () => {
  await using world = await World.open();
  const { agent } = await linked(world);
  const codeAfter = async (times: number) => {
    for (let n = 0; n < times; n++) agent.send({ type: "heartbeat", status: "ok" });
    await world.settle();
    return agent.closed?.code;
  };
  eq(await codeAfter(60), undefined);
  world.clock.nowMs += 60_000;
  eq(await codeAfter(60), undefined);
  eq(await codeAfter(1), 4428);
});

Deno.test("link: an agent may send as many late results as it can keep, then it is disconnected", async () => {
  await using world = await World.open();
  const { owner, agent } = await linked(world);
  const codeAfter = async (count: number) => {
    agent.finish(...Array.from({ length: count }, (_, n) => ({ command_id: `cmd_${n}` })));
    await world.settle();
    return agent.closed?.code;
  };
  for (let n = 0; n < 4; n++) eq(await codeAfter(64), undefined);
  world.clock.nowMs += 60_000;
  for (let n = 0; n < 4; n++) eq(await codeAfter(64), undefined);
  eq(await codeAfter(1), 4428);
  eq(await statusOf(world, owner, agent.id), "offline");
});

Deno.test("link: an agent that does not read is disconnected before it fills the memory", async () => {
  await using world = await World.open();
  const { owner, agent } = await linked(world);
  agent.bufferedBytes = 4 * 1024 * 1024 + 1;
  agent.send({ type: "heartbeat", status: "ok" });
  eq(agent.closed?.code, 4429);
  eq(await statusOf(world, owner, agent.id), "offline");
});

Deno.test("link: it closes when its key loses its rights: at once if revoked or deleted, within 1 s if expired or demoted", async () => {
  // The sweep takes half of the second.
  const ends: [string, number, (world: World, owner: Account, id: string) => Promise<unknown>][] = [
    [
      "revoked",
      0,
      (world, { token: as }, id) => world.call("POST", `/api/v1/api-keys/${id}/revoke`, { as }),
    ],
    [
      "deleted",
      0,
      (world, { token: as }, id) => world.call("DELETE", `/api/v1/api-keys/${id}`, { as }),
    ],
    ["expired", 500, (world) => Promise.resolve(world.clock.nowMs += DAY_MS)],
    ["demoted", 500, (world, { org, userId }) => {
      const tenant: Tenant = { org, space: "live" };
      return world.app.store.transact(async (tx) => {
        tx.put(users, tenant, { ...(await tx.get(users, tenant, userId))!, roles: ["viewer"] });
      });
    }],
  ];
  for (const [what, withinMs, end] of ends) {
    await using world = await World.open();
    const { owner, key, agent } = await linked(world);
    const other = await ScriptedAgent.connect(
      world,
      (await world.key(await world.signUp(), RIGHTS)).value,
    );
    await end(world, owner, key.id);
    agent.send({ type: "heartbeat", status: "ok" });
    other.send({ type: "heartbeat", status: "ok" });
    await world.advance(withinMs);
    deq([what, agent.closed?.code, other.closed], [what, 4401, null]);
    if (what === "expired") continue;
    deq(await reasonsOf(world, owner, agent.id), ["credential_refused"]);
  }
});

Deno.test("link: it closes within 1 s of its key's end, even while another key cannot be read", async () => {
  await using world = await World.open();
  const [one, other] = [await world.signUp(), await world.signUp()];
  const [unknown, revoked] = [await world.key(one, RIGHTS), await world.key(other, RIGHTS)];
  const stays = await ScriptedAgent.connect(world, unknown.value);
  const ends = await ScriptedAgent.connect(world, revoked.value);
  await revokeElsewhere(world, other, revoked.id);
  for (const { store } of world.apps) {
    const get = store.get.bind(store);
    store.get = (of, tenant, id) =>
      id === unknown.id ? Promise.reject(new StoreUnavailableError()) : get(of, tenant, id);
  }
  await world.advance(500);
  deq([stays.closed, ends.closed?.code], [null, 4401]);
  ok(world.logged.some(({ message }) => message.includes("credentials of links")));
});

Deno.test("/ws: an upgrade needs the right, an API key and the subprotocol", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [admin, reader] = [await world.key(owner, RIGHTS), await world.key(owner, ["agents:read"])];
  const upgrade = { upgrade: "websocket", "sec-websocket-protocol": "relay.agent.v1" };
  const cases: [string | undefined, Record<string, string>, number, string][] = [
    [undefined, upgrade, 401, "MISSING_CREDENTIALS"],
    ["svc_live_junk", upgrade, 401, "INVALID_API_KEY"],
    [admin.value, {}, 426, "UPGRADE_REQUIRED"],
    [admin.value, { upgrade: "websocket" }, 400, "VALIDATION_FAILED"],
    [
      admin.value,
      { ...upgrade, "sec-websocket-protocol": "relay.agent.v2" },
      400,
      "VALIDATION_FAILED",
    ],
    [reader.value, upgrade, 403, "INSUFFICIENT_SCOPES"],
    [owner.token, upgrade, 403, "FORBIDDEN"],
  ];
  for (const [as, headers, status, code] of cases) {
    const answer = await world.call("GET", "/ws", { as, headers });
    deq([answer.status, answer.body.error.code], [status, code]);
  }
  const path = `/api/audit?event_type=access_denied`;
  const { events } = (await world.call("GET", path, { as: owner.token })).body;
  deq(events.map((event: { details: unknown }) => event.details), [
    { endpoint: "GET /ws", required: ["agents:admin"] },
  ]);
});

Deno.test("/ws: over a real socket the challenge comes first, and a binary frame ends it", async () => {
  await using world = await World.open();
  const { value } = await world.key(await world.signUp(), RIGHTS);
  const serve = mount(world.app, routes, upgrades);
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, serve);
  const socket = new WebSocket(`ws://127.0.0.1:${server.addr.port}/ws`, {
    protocols: ["relay.agent.v1"],
    headers: { authorization: `Bearer ${value}` },
  });
  const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
  const first = await new Promise<string>((resolve) =>
    socket.onmessage = ({ data }) => resolve(data)
  );
  eq(socket.protocol, "relay.agent.v1");
  ok(JSON.parse(first).nonce.length >= 32);
  socket.send(new Uint8Array([1, 2, 3]));
  deq([(await closed).code, (await closed).reason], [4400, "frames are JSON text"]);
});
