import { hash } from "node:crypto";
import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { startable } from "../../core/policies/upgrades/stages.ts";
import { VERSION } from "../../core/protocol/protocol.ts";
import { publicKeyOf, upgradeText, verifiesText } from "../../core/protocol/statements.ts";
import type { ProgramFacts } from "../../core/protocol/upgrades.ts";
import { agentUpgrades, upgrades } from "../../kv/records/backup.ts";
import { eventsOf } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";
import { Fleet, PROGRAMS, SHA256 } from "./upgrade_fleet.ts";

Deno.test("startable: one agent alone, then a tenth, then the others, at most 8 at once", () => {
  const all = { total: 40, failed: 0, stopAfter: 2 };
  const at = (started: number, succeeded: number, failed = 0) =>
    startable({ ...all, started, succeeded, failed });
  deq([at(0, 0), at(1, 0), at(1, 1), at(4, 1), at(4, 3), at(4, 4), at(12, 4), at(12, 6)], [
    1,
    0,
    3,
    0,
    0,
    8,
    0,
    2,
  ]);
  deq([at(1, 0, 1), at(4, 2, 1), at(4, 3, 1), at(9, 4, 2), at(40, 40)], [0, 0, 8, 0, 0]);
  deq([1, 2, 3].map((total) => startable({ ...all, total, started: 1, succeeded: 1 })), [0, 1, 2]);
});

Deno.test("upgrades: agents get the whole program under a signed order, in stages, and everything is on record", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 13);
  const started = await fleet.start({ all: true });
  const { upgrade: { id, version, agents } } = started.body;
  deq([version, agents.length, started.body.skipped], [VERSION, 13, []]);
  deq(fleet.asked(), ["web-1"]);

  const { orders: [order], received, link } = fleet.agent("web-1");
  const welcome = await link.until("welcome");
  const text = upgradeText({ agentId: link.id, nonce: link.nonce }, order!);
  ok(verifiesText(publicKeyOf(welcome.verdict_key)!, text, order!.signature));
  deq([order!.version, order!.platform, order!.sha256], [VERSION, "any", SHA256]);
  eq(order!.expires_at_ms, world.clock.now() + 60_000);
  eq(hash("sha256", new Uint8Array(await new Blob(received as BlobPart[]).arrayBuffer())), SHA256);

  await fleet.succeed("web-1");
  deq(fleet.asked(), ["web-2"]);
  await fleet.succeed("web-2");
  eq(fleet.asked().length, 8);
  while (fleet.asked().length > 0) await fleet.succeed(fleet.asked()[0]!);
  const ended = await fleet.show(id);
  deq([ended.status, ended.succeeded, ended.failed], ["complete", 13, 0]);
  deq(new Set(ended.agents.map(({ status }: { status: string }) => status)), new Set(["complete"]));
  deq(
    (await eventsOf(world, fleet.owner, id)).map(({ event_type, details }) => [
      event_type,
      details,
    ]),
    [
      ["upgrade_started", { version: VERSION, agents: 13, stop_after: 1 }],
      ["upgrade_ended", { version: VERSION, status: "complete", upgraded: 13, failed: 0, left: 0 }],
    ],
  );
  const own = await eventsOf(world, fleet.owner, link.id);
  deq(own.find(({ event_type }) => event_type === "agent_upgraded")?.details, {
    name: "web-1",
    upgrade_id: id,
    user: fleet.owner.userId,
    version: VERSION,
    previous_version: "0.0.1",
    sha256: SHA256,
  });
});

Deno.test("upgrades: an agent that came back with its earlier program stops the upgrade, with the reason", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 3);
  const { body: { upgrade: { id } } } = await fleet.start({ all: true, stop_after_failures: 5 });
  await fleet.fail("web-1");
  deq(fleet.asked(), []);
  const stopped = await fleet.show(id);
  eq(stopped.status, "stopped");
  deq(stopped.agents.map(({ status, error }: Record<string, unknown>) => [status, error]), [
    ["failed", "it ended with exit code 3"],
    ["waiting", null],
    ["waiting", null],
  ]);
  // It may be tried again, and later failures may be allowed.
  const again = (await fleet.start({ all: true, stop_after_failures: 2 })).body.upgrade.id;
  await fleet.succeed("web-1");
  await fleet.fail("web-2");
  deq(fleet.asked(), ["web-3"]);
  await fleet.agent("web-3").back("0.0.1", {});
  const ended = await fleet.show(again);
  deq([ended.status, ended.succeeded, ended.failed], ["complete", 1, 2]);
  eq(ended.agents[2].error, "the agent came back with its earlier program");
  const events = await eventsOf(world, fleet.owner, fleet.agent("web-2").link.id);
  deq(events.find(({ event_type }) => event_type === "agent_upgrade_failed")?.details, {
    name: "web-2",
    upgrade_id: again,
    user: fleet.owner.userId,
    version: VERSION,
    reason: "it ended with exit code 3",
  });
});

Deno.test("upgrades: agents that cannot be upgraded are named with the reason and stay as they are", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 0);
  await fleet.add("current", VERSION);
  await fleet.add("silent", "0.0.1", null);
  await fleet.add("checkout", "0.0.1", { form: "source" });
  await fleet.add("binary", "0.0.1", { form: "executable" });
  await fleet.add("away");
  fleet.agent("away").link.drop();
  await world.settle();
  const reasonsOf = async (body: object) => {
    const answer = await fleet.start(body);
    eq(answer.body.upgrade, null);
    return answer.body.skipped.map(({ name, reason, current }: Record<string, unknown>) =>
      current ? `${name} is current` : `${name}: ${reason}`
    ).join("\n");
  };
  const all = await reasonsOf({ all: true });
  match(all, /^silent: version 0.0.1 cannot be upgraded over its link: install/m);
  match(all, /^checkout: it is installed from source: update its checkout/m);
  match(all, /^binary: the relay has no program for linux-x86_64: see RELAY_AGENT_PROGRAMS/m);
  match(all, /^away: it is offline/m);
  eq(all.split("\n").length, 4);
  eq(await reasonsOf({ names: ["current"] }), "current is current");
  eq(await reasonsOf({ labels: { env: "none" } }), "");
  deq(fleet.asked(), []);
  const missing = await fleet.start({ names: ["current", "nobody"] });
  deq([missing.status, missing.body.error.code], [404, "AGENT_NOT_FOUND"]);
  eq((await fleet.start({ all: true, names: ["current"] })).status, 400);
  eq((await fleet.start({})).status, 400);
  eq((await fleet.start({ labels: {} })).status, 400);
});

Deno.test("upgrades: one at a time, and a cancelled one asks no further agent", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 2);
  const { body: { upgrade: { id } } } = await fleet.start({ names: ["web-1", "web-2", "web-1"] });
  const second = await fleet.start({ all: true });
  deq([second.status, second.body.error.details.id], [409, id]);
  const cancel = () =>
    world.call("POST", `/api/v1/agent-upgrades/${id}/cancel`, { as: fleet.owner.token, body: {} });
  eq((await cancel()).body.status, "running");
  await fleet.succeed("web-1");
  const ended = await fleet.show(id);
  deq([ended.status, ended.succeeded], ["stopped", 1]);
  deq(fleet.asked(), []);
  eq((await cancel()).status, 409);
});

Deno.test("upgrades: an agent that is lost, or deleted, does not hold the others up for ever", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 3);
  const { body: { upgrade: { id } } } = await fleet.start({ all: true, stop_after_failures: 3 });
  await fleet.succeed("web-1");
  const { token: as } = fleet.owner;
  await world.call("DELETE", `/api/v1/agents/${fleet.agent("web-2").link.id}`, { as });
  await world.settle();
  const shown = await fleet.show(id);
  deq([shown.agents[1].status, shown.failed], ["deleted", 1]);
  fleet.agent("web-3").link.drop();
  await world.settle();
  world.clock.advance(15 * 60_000);
  await world.app.transfers.sweep();
  const ended = await fleet.show(id);
  deq([ended.status, ended.agents[2].error], ["complete", "the agent did not reconnect in time"]);
});

Deno.test("upgrades: an agent that is deleted while an instance claims its upgrade counts as failed", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 2);
  const { body: { upgrade: { id } } } = await fleet.start({ all: true });
  const { store } = world.app;
  const find = store.find.bind(store);
  let claimed = false;
  store.find = async (of, tenant, index, key) => {
    const found = await find(of, tenant, index, key);
    if (!Object.is(of, agentUpgrades) || found === null || claimed) return found;
    claimed = true;
    await store.transact(async (tx) => {
      const job = await tx.get(agentUpgrades, tenant, found.id);
      tx.put(agentUpgrades, tenant, { ...job!, attempt: job!.attempt + 1 });
    });
    return found;
  };
  const { token: as } = fleet.owner;
  await world.call("DELETE", `/api/v1/agents/${fleet.agent("web-1").link.id}`, { as });
  await world.settle();
  const { status, failed } = await fleet.show(id);
  deq([claimed, status, failed], [true, "stopped", 1]);
});

Deno.test("upgrades: the sweep takes the steps that a crash left", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 2);
  const { clock, app } = world;
  const { org, userId } = fleet.owner;
  const left = {
    id: "upg_left",
    version: VERSION,
    status: "running" as const,
    agent_ids: fleet.agents.map(({ link }) => link.id),
    started: 0,
    succeeded: 0,
    failed: 0,
    stop_after: 1,
    created_by: userId,
    created_at_ms: clock.now(),
    finished_at_ms: null,
  };
  await app.store.transact((tx) => tx.insert(upgrades, { org, space: "live" }, left));
  await app.transfers.sweep();
  await world.settle();
  deq(fleet.asked(), ["web-1"]);
  await fleet.succeed("web-1");
  deq(fleet.asked(), ["web-2"]);
});

Deno.test("upgrades: an agent that got the version in another way needs nothing", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 2);
  const { body: { upgrade: { id } } } = await fleet.start({ all: true });
  await fleet.agent("web-2").back(VERSION, {});
  // Its installed program was replaced while it had the one that it was sent.
  await fleet.agent("web-1").back(VERSION, {});
  deq([(await fleet.show(id)).succeeded, fleet.agent("web-2").orders], [2, []]);
});

Deno.test("upgrades: a program of another version than its file says stops the upgrade", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 2);
  const { body: { upgrade: { id } } } = await fleet.start({ all: true });
  const { orders: [order], back } = fleet.agent("web-1");
  await back("0.0.9", { upgrade: order!.job_id });
  const { status, agents: [first] } = await fleet.show(id);
  eq(status, "stopped");
  match(first.error, RegExp(`provided as version ${VERSION} has version 0.0.9: check its file`));
});

Deno.test("upgrades: a requester who lost the right upgrades no further agent", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 2);
  const key = await world.key(fleet.owner, ["agents:admin", "agents:read"]);
  const answer = await world.call("POST", "/api/v1/agent-upgrades", {
    as: key.value,
    body: { all: true },
  });
  await world.settle();
  await world.call("POST", `/api/v1/api-keys/${key.id}/revoke`, {
    as: fleet.owner.token,
    body: {},
  });
  await fleet.succeed("web-1");
  const ended = await fleet.show(answer.body.upgrade.id);
  eq(ended.agents[1].error, "the requester no longer has the right to it");
  deq(fleet.agent("web-2").orders, []);
});

Deno.test("upgrades: a program that fails to start after it had come back makes its upgrade a failed one, once", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 3);
  const { body: { upgrade: { id } } } = await fleet.start({ all: true });
  await fleet.succeed("web-1");
  await fleet.succeed("web-2");
  deq(fleet.asked(), ["web-3"]);
  const message = "it failed to start 3 times in a row";
  // The report of an agent about the upgrade of another one changes nothing.
  const { orders: [other] } = fleet.agent("web-2");
  await fleet.agent("web-1").back(VERSION, { failed: { job_id: other!.job_id, message } });
  eq((await fleet.show(id)).succeeded, 2);

  await fleet.fail("web-1");
  await fleet.fail("web-1");
  await fleet.succeed("web-3");
  const { status, succeeded, failed, agents: [first] } = await fleet.show(id);
  deq([status, succeeded, failed], ["complete", 2, 1]);
  deq([first.status, first.error], ["failed", "it ended with exit code 3"]);
  const told = (await eventsOf(world, fleet.owner, fleet.agent("web-1").link.id))
    .filter(({ event_type }) => event_type === "agent_upgrade_failed");
  deq(told.map(({ details }) => details), [{
    name: "web-1",
    upgrade_id: id,
    user: fleet.owner.userId,
    version: VERSION,
    reason: "it ended with exit code 3",
  }]);
});

Deno.test("upgrades: an agent that came back with a program that cannot be upgraded gets no order, and the reason", async () => {
  await using world = await World.open({ programs: PROGRAMS });
  const fleet = await Fleet.open(world, 4);
  const ends: [string, string, ProgramFacts | null, RegExp][] = [
    ["web-1", "web-2", null, /^version 0.0.1 cannot be upgraded over its link: install .* there/],
    ["web-3", "web-4", { form: "source" }, /^it is installed from source: update its checkout/],
  ];
  for (const [first, second, program, reason] of ends) {
    const { body: { upgrade: { id } } } = await fleet.start({ names: [first, second] });
    await fleet.agent(second).back("0.0.1", program);
    await fleet.succeed(first);
    const { succeeded, failed, agents } = await fleet.show(id);
    deq([succeeded, failed, fleet.agent(second).orders], [1, 1, []]);
    match(agents[1].error, reason);
  }
});
