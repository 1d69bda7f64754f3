import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { repositories } from "../../kv/records/gitops.ts";
import { standingReviews } from "../../kv/records/standing.ts";
import {
  forbidding,
  type GitWorld,
  HOOK_SECRET,
  inForce,
  pushSigned,
  withRepository,
} from "../policies/git_fixtures.ts";
import { type Account, World } from "../support/world.ts";
import { eventsOf, exec, linkAgent, type Linked, runsOf } from "../support/linked_agent.ts";
import { setUser } from "./keys/key_fixtures.ts";

const MINUTE_MS = 60_000;
const RISKY = "systemctl stop nginx";
const OFF = "mode: off\n";

interface Here extends Linked {
  /** An administrator who registered the repository. */
  readonly maker: Account;
  readonly git: GitWorld;
}

async function registered(world: World, more: Record<string, unknown> = {}): Promise<Here> {
  await world.signUp(); // the host, whose administrators have fewer rights
  const here = await linkAgent(world);
  const maker = await world.join(here.owner, ["admin"]);
  const git = await withRepository(world, more, maker);
  const get: GitWorld["get"] = (path) =>
    world.call("GET", `/api/v1/gitops/${path}`, { as: here.owner.token });
  return { ...here, maker, git: { ...git, owner: here.owner, get } };
}

const asOwner = (world: World, { owner }: Pick<Here, "owner">, path: string, body: unknown = {}) =>
  world.call("POST", path, { as: owner.token, body });

const deactivate = (world: World, here: Here) =>
  asOwner(world, here, `/api/v1/users/${here.maker.userId}/deactivate`);

const repository = async ({ git }: Here) => (await git.get(`repos/${git.repositoryId}`)).body;

/** The notices of suspensions that a person has. */
async function noticesOf(world: World, { token: as }: Account) {
  await world.settle();
  const { body } = await world.call("GET", "/api/account/notifications?limit=100", { as });
  return body.notifications
    .filter(({ type }: { type: string }) => type === "standing_suspended")
    .map((one: { resource_id: string; details: unknown }) => [one.resource_id, one.details]);
}

const anonymousPush = (world: World, { git }: Here) =>
  world.call("POST", "/api/v1/gitops/webhook", {
    body: { event: "push", repository: git.host.url },
  });

Deno.test("repositories: a push does not apply policies for a deactivated person", async () => {
  for (const more of [{}, { sync_seconds: 60 }, { webhook_secret: HOOK_SECRET }]) {
    await using world = await World.open();
    const here = await registered(world, more);
    await world.advance(MINUTE_MS);
    const { body: waiting } = await exec(world, here, RISKY);
    eq(waiting.status, "pending_approval");
    eq((await deactivate(world, here)).status, 200);
    await world.settle();
    const { asked } = here.git.host;
    await here.git.host.commit({ "off.yaml": OFF });
    await anonymousPush(world, here);
    await pushSigned(world, here.git);
    await world.advance(5 * MINUTE_MS);
    eq(here.git.host.asked, asked, "the host was asked");
    deq(await inForce(here.git), []);
    eq((await exec(world, here, RISKY)).status, 202);
    deq(runsOf(here.agent), []);
    deq((await repository(here)).suspended, {
      person: here.maker.userId,
      reason: "inactive",
      missing: ["policy:write"],
    });
  }
});

Deno.test("repositories: an unsigned push applies nothing, even with the right", async () => {
  await using world = await World.open();
  const here = await registered(world);
  const commit = await here.git.host.commit({ "off.yaml": OFF });
  await anonymousPush(world, here);
  await world.advance(30 * MINUTE_MS);
  deq(await inForce(here.git), []);
  const shown = await repository(here);
  deq([shown.pending.commit, shown.pending.changes], [commit, [
    { action: "create", name: "off", path: "off.yaml" },
  ]]);
  deq([shown.applied_commit, shown.suspended], [null, null]);
  eq((await exec(world, here, RISKY)).status, 202);
});

Deno.test("repositories: applying a pending push clears it", async () => {
  await using world = await World.open();
  const here = await registered(world, { sync_seconds: 600 });
  await here.git.host.commit({ "a.yaml": forbidding("nmap") });
  await world.advance(MINUTE_MS);
  await anonymousPush(world, here);
  await world.settle();
  ok((await repository(here)).pending !== null);
  await world.advance(40 * MINUTE_MS);
  deq([(await repository(here)).pending, await inForce(here.git)], [null, [["a", "1", false]]]);
});

Deno.test("repositories: a sync names the person whose right it applies with", async () => {
  await using world = await World.open();
  const here = await registered(world, { webhook_secret: HOOK_SECRET });
  await here.git.host.commit({ "a.yaml": forbidding("nmap") });
  await pushSigned(world, here.git);
  await world.settle();
  const { body: { policies: [{ id }] } } = await here.git.get("policies");
  const [created] = await eventsOf(world, here.owner, id);
  deq([created!.actor, created!.details["user"], created!.details["on_behalf_of"]], [
    "relay",
    null,
    here.maker.userId,
  ]);
  const { body: { versions: [version] } } = await here.git.get(`versions?policy_id=${id}`);
  deq([version.created_by, version.on_behalf_of], ["relay", here.maker.userId]);
});

Deno.test("repositories: a sync that ends a pin names the person whose right it uses", async () => {
  await using world = await World.open();
  const here = await registered(world, { webhook_secret: HOOK_SECRET });
  let n = 0;
  const push = async (program: string) => {
    const files = { "a.yaml": forbidding(program), "README.md": `${++n}` };
    await pushSigned(world, here.git, await here.git.host.commit(files));
    await world.settle();
  };
  await push("nmap");
  await push("nc");
  const { body: { policies: [{ id: policy_id }] } } = await here.git.get("policies");
  await asOwner(world, here, "/api/v1/gitops/rollback", { policy_id, version: "1" });
  await push("nmap");
  const ended = (await eventsOf(world, here.owner, policy_id)).at(-1)!;
  deq([ended.event_type, ended.actor, ended.details["on_behalf_of"]], [
    "policy_unpinned",
    "relay",
    here.maker.userId,
  ]);
});

Deno.test("standing things: administrators are notified of each suspension once, and it ends when the rights return", async () => {
  await using world = await World.open();
  const here = await registered(world, { sync_seconds: 60 });
  const users = `/api/v1/users/${here.maker.userId}`;
  await deactivate(world, here);
  await world.advance(10 * MINUTE_MS);
  const told = [here.git.repositoryId, {
    name: "policies",
    person: here.maker.userId,
    reason: "inactive",
    missing: ["policy:write"],
  }];
  deq(await noticesOf(world, here.owner), [told]);
  await asOwner(world, here, `${users}/activate`);
  await here.git.host.commit({ "a.yaml": forbidding("nmap") });
  await world.advance(3 * MINUTE_MS);
  deq([(await repository(here)).suspended, await inForce(here.git)], [null, [["a", "1", false]]]);
  const body = { user_id: here.maker.userId };
  await asOwner(world, here, "/api/v1/roles/viewer/assign", body);
  await asOwner(world, here, "/api/v1/roles/admin/revoke", body);
  await world.advance(3 * MINUTE_MS);
  eq((await noticesOf(world, here.owner)).length, 2);
  eq((await repository(here)).suspended.reason, "rights");
  const types = (await eventsOf(world, here.owner, here.git.repositoryId))
    .map(({ event_type }) => event_type)
    .filter((type) => type.startsWith("standing_"));
  deq(types, ["standing_suspended", "standing_resumed", "standing_suspended"]);
});

Deno.test("standing things: housekeeping does a review that a crash interrupted", async () => {
  await using world = await World.open();
  const here = await registered(world);
  const home = { org: here.owner.org, space: "live" } as const;
  await setUser(world, here.maker, { active: false });
  await world.app.store.transact((tx) => {
    tx.put(standingReviews, home, { id: "review", stamp: "rev_1" });
  });
  deq(await noticesOf(world, here.owner), []);
  await world.advance(MINUTE_MS);
  eq((await noticesOf(world, here.owner)).length, 1);
  eq(await world.app.store.get(standingReviews, home, "review"), null);
});

Deno.test("repositories: one of an earlier version acts for the person who registered it", async () => {
  await using world = await World.open();
  const here = await registered(world, { sync_seconds: 60 });
  const tenant = { org: here.owner.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const { standing: _, look_at_ms: __, pending: ___, ...old } =
      (await tx.get(repositories, tenant, here.git.repositoryId))!;
    tx.put(repositories, tenant, old as never);
  });
  eq((await repository(here)).acts_for, here.maker.userId);
  await deactivate(world, here);
  await here.git.host.commit({ "off.yaml": OFF });
  await world.advance(5 * MINUTE_MS);
  deq(await inForce(here.git), []);
});
