import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { type Account, World } from "../../support/world.ts";
import { exec, linkAgent, type Linked } from "../../support/linked_agent.ts";

const SETTINGS = "/api/shield/settings";
const DAY_MS = 24 * 60 * 60 * 1000;

interface Here extends Linked {
  readonly admin: Account;
  readonly other: Account;
}

async function setUp(world: World): Promise<Here> {
  await world.signUp(); // the host, whose administrators change no settings
  const here = await linkAgent(world);
  const admin = await world.join(here.owner, ["admin"]);
  return { ...here, admin, other: await world.join(here.owner, ["admin"]) };
}

const turn = (world: World, as: string, self_approval: boolean) =>
  world.call("PATCH", SETTINGS, { as, body: { approvals: { self_approval } } });

const decide = (world: World, how: "confirm" | "refuse", as: string, id: string) =>
  world.call("POST", `/api/shield/self-approval/${how}`, { as, body: { id } });

const settings = async (world: World, { token: as }: Account) =>
  (await world.call("GET", SETTINGS, { as })).body;

/** A person's notifications of self-approval, newest first. */
async function told(world: World, { token: as }: Account): Promise<string[]> {
  const { body } = await world.call("GET", "/api/account/notifications", { as });
  return body.notifications.map(({ type }: { type: string }) => type)
    .filter((type: string) => type.startsWith("self_approval"));
}

Deno.test("self-approval: allowing it waits for a second administrator, and all administrators are notified", async () => {
  await using world = await World.open();
  const { admin, other, owner } = await setUp(world);
  const operator = await world.join(owner, ["operator"]);
  const { status, body } = await turn(world, admin.token, true);
  deq([status, body.approvals.self_approval], [200, false]);
  const { id, requested_by } = body.pending_self_approval;
  eq(requested_by, admin.userId);
  for (const who of [admin, other, owner]) {
    deq(await told(world, who), ["self_approval_requested"]);
  }
  deq(await told(world, operator), []);
  eq((await decide(world, "confirm", admin.token, id)).status, 403);
  eq((await decide(world, "confirm", operator.token, id)).status, 403);
  eq((await turn(world, admin.token, true)).body.pending_self_approval.id, id);
  eq((await settings(world, owner)).approvals.self_approval, false);
  const confirmed = await decide(world, "confirm", other.token, id);
  deq(
    [confirmed.body.approvals.self_approval, confirmed.body.pending_self_approval],
    [true, null],
  );
  deq(await told(world, owner), ["self_approval_allowed", "self_approval_requested"]);
  eq((await decide(world, "confirm", other.token, id)).status, 404);
  await world.settle();
  const trail = await world.trail(owner);
  deq(trail.filter((type) => /^(self_approval|shield_changed)/.test(type)), [
    "self_approval_requested",
    "shield_changed",
    "shield_changed",
    "self_approval_allowed",
    "shield_changed",
  ]);
  eq((await turn(world, admin.token, false)).body.approvals.self_approval, false);
});

Deno.test("self-approval: the only person who may change the settings allows it alone, and that is recorded", async () => {
  await using world = await World.open();
  await world.signUp();
  const here = await linkAgent(world);
  await world.join(here.owner, ["operator"]);
  const { body } = await turn(world, here.owner.token, true);
  deq([body.approvals.self_approval, body.pending_self_approval], [true, null]);
  deq(await told(world, here.owner), ["self_approval_allowed"]);
  eq((await world.trail(here.owner)).includes("self_approval_allowed"), true);
});

Deno.test("self-approval: no key allows or confirms it, and no second change replaces a pending one", async () => {
  await using world = await World.open();
  const { admin, other, owner } = await setUp(world);
  const key = await world.key(other, ["system:write", "system:read"]);
  eq((await turn(world, key.value, true)).status, 403);
  deq([(await settings(world, owner)).pending_self_approval, await told(world, owner)], [null, []]);
  const { body: { pending_self_approval: { id } } } = await turn(world, admin.token, true);
  eq((await decide(world, "confirm", key.value, id)).status, 403);
  const twice = await turn(world, other.token, true);
  deq([twice.status, twice.body.error.details.change_id], [409, id]);
  const after = await settings(world, owner);
  deq([after.approvals.self_approval, after.pending_self_approval.id], [false, id]);
});

Deno.test("self-approval: a pending change can be refused or withdrawn, and ends after a day or with the asker's rights", async () => {
  await using world = await World.open();
  const { admin, other, owner } = await setUp(world);
  const ask = async () => (await turn(world, admin.token, true)).body.pending_self_approval.id;
  for (const who of [other, admin]) {
    const id = await ask();
    eq((await decide(world, "refuse", who.token, id)).body.pending_self_approval, null);
    eq((await decide(world, "confirm", other.token, id)).status, 404);
  }
  const id = await ask();
  const role = "/api/v1/roles/admin";
  const body = { user_id: admin.userId };
  await world.call("POST", `${role}/revoke`, { as: owner.token, body });
  const { status, body: { error } } = await decide(world, "confirm", other.token, id);
  deq([status, error.code], [409, "CONFLICT"]);
  await world.call("POST", `${role}/assign`, { as: owner.token, body });
  const key = await world.key(owner, ["system:read"]);
  world.clock.advance(DAY_MS);
  const { body: later } = await world.call("GET", SETTINGS, { as: key.value });
  deq([later.approvals.self_approval, later.pending_self_approval], [false, null]);
});

Deno.test("self-approval: requests made before it was allowed are not approved by their asker", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const asked = await exec(world, here, "systemctl stop nginx", { as: here.admin.token });
  const { body: { pending_self_approval } } = await turn(world, here.admin.token, true);
  await decide(world, "confirm", here.other.token, pending_self_approval.id);
  const path = `/api/shield/approve/${asked.body.approval_id}`;
  const { status } = await world.call("POST", path, { as: here.admin.token, body: {} });
  eq([403, 409].includes(status), true);
});

Deno.test("self-approval: no policy allows it", async () => {
  await using world = await World.open();
  const { owner } = await linkAgent(world);
  const match = { programs: ["systemctl"] };
  for (
    const policy of [
      { self_approval: true },
      { approvals: { self_approval: true } },
      { rules: [{ id: "r", match, verdict: "approve", approvals: { self_approval: true } }] },
    ]
  ) {
    const { status } = await world.call("PATCH", SETTINGS, { as: owner.token, body: { policy } });
    eq(status, 400);
  }
});
