import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { policyVersions, repositories } from "../../kv/records/gitops.ts";
import { SCHEMA_KEY } from "../../kv/maintenance/migrations.ts";
import { versionId } from "../../core/policies/policy_set.ts";
import { VERSIONS_KEPT } from "../../core/policies/prune_versions.ts";
import { FAULTS } from "../../core/fault/fault.ts";
import { nextLookMs } from "../../core/policies/sync_schedule.ts";
import {
  forbidding,
  HOOK_SECRET,
  inForce,
  post,
  pushSigned,
  withRepository,
} from "./git_fixtures.ts";
import { shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { eventsOf } from "../support/linked_agent.ts";
import { rawRows } from "../support/raw_rows.ts";

const SYNCED = { sync_seconds: 60, policy_path: "policies" };
const MINUTE_MS = 60_000;

Deno.test("syncs: put a pushed commit in force, as Relay itself", async () => {
  await using world = await World.open();
  const git = await withRepository(world, SYNCED);
  await world.settle();
  const first = await git.get(`repos/${git.repositoryId}`);
  eq(first.body.last_sync.error, "The repository has no branch main.");
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  // After a failure the wait doubles.
  await world.advance(3 * MINUTE_MS);
  deq(await inForce(git), [["a", "1", false]]);
  const commit = await git.host.commit({ "policies/a.yaml": forbidding("nc") });
  await world.advance(2 * MINUTE_MS);
  deq(await inForce(git), [["a", "2", false]]);
  const { body } = await git.get(`repos/${git.repositoryId}`);
  deq([body.applied_commit, body.last_sync.error], [commit, null]);
  const { body: { policies: [policy] } } = await git.get("policies");
  const [created] = await eventsOf(world, git.owner, policy.id);
  deq([created?.actor, created?.details["user"]], ["relay", null]);
});

Deno.test("syncs: an invalid commit changes nothing and is reported once, and the next valid one is applied", async () => {
  await using world = await World.open();
  const git = await withRepository(world, SYNCED);
  await world.settle();
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await world.advance(3 * MINUTE_MS);
  await git.host.commit({ "policies/a.yaml": "rules: nonsense\n" });
  await world.advance(8 * MINUTE_MS);
  deq(await inForce(git), [["a", "1", false]]);
  const events = await eventsOf(world, git.owner, git.repositoryId);
  const failed = events.filter(({ event_type }) => event_type === "repository_sync_failed");
  eq(failed.length, 2);
  ok(String(failed[1]?.details["reason"]).startsWith("policies/a.yaml:1:8"));
  await git.host.commit({ "policies/a.yaml": forbidding("ssh") });
  await world.advance(20 * MINUTE_MS);
  deq(await inForce(git), [["a", "2", false]]);
});

Deno.test("syncs: pause while the organization is off, and resume when it is on", async () => {
  await using world = await World.open();
  const host = await world.signUp();
  const git = await withRepository(world, SYNCED);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await world.advance(3 * MINUTE_MS);
  const toggle = async (active: boolean) => {
    const path = `/api/admin/accounts/${git.owner.org}/toggle`;
    eq((await world.call("POST", path, { as: host.token, body: { active } })).status, 200);
  };
  await toggle(false);
  await git.host.commit({ "policies/a.yaml": forbidding("nc") });
  const asked = world.network.sent.length;
  await world.advance(30 * MINUTE_MS);
  eq(world.network.sent.length, asked, "nobody asks its Git host");
  await toggle(true);
  deq(await inForce(git), [["a", "1", false]]);
  await world.advance(2 * MINUTE_MS);
  deq(await inForce(git), [["a", "2", false]]);
});

Deno.test("syncs: a due time set while the clock was a year ahead does not delay the next sync", async () => {
  await using world = await World.open();
  const git = await withRepository(world, SYNCED);
  const yearMs = 365 * 24 * 60 * MINUTE_MS;
  world.clock.nowMs += yearMs;
  await world.advance(5 * MINUTE_MS);
  world.clock.nowMs -= yearMs;
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  world.app.syncs.wake();
  await world.settle();
  deq(await inForce(git), [["a", "1", false]]);
});

Deno.test("rollback: stays through syncs and applies until the file changes", async () => {
  await using world = await World.open();
  const git = await withRepository(world, SYNCED);
  const { owner, host } = git;
  for (const program of ["nmap", "nc"]) {
    await host.commit({ "policies/a.yaml": forbidding(program) });
    eq((await git.apply()).status, 200);
  }
  const { body: { policies: [{ id: policy_id }] } } = await git.get("policies");
  const back = await post(world, owner, "rollback", { policy_id, version: "1" });
  deq([back.status, back.body.version, back.body.latest_version], [200, "1", "2"]);
  ok(back.body.pinned);
  await world.advance(2 * MINUTE_MS);
  const again = await git.apply();
  deq([again.body.changed, again.body.plan[0].action], [false, "pinned"]);
  // A commit that does not touch the policy changes nothing either.
  await host.commit({ "policies/a.yaml": forbidding("nc"), "README.md": "news" });
  await world.advance(2 * MINUTE_MS);
  deq(await inForce(git), [["a", "1", true]]);
  await host.commit({ "policies/a.yaml": forbidding("ssh") });
  await world.advance(2 * MINUTE_MS);
  deq(await inForce(git), [["a", "3", false]]);
  const types = (await eventsOf(world, owner, policy_id)).map(({ event_type }) => event_type);
  deq(types, [
    "policy_created",
    "policy_updated",
    "policy_updated",
    "policy_rolled_back",
    "policy_updated",
  ]);
});

Deno.test("rollback: pins again after an unpin, and after a file that came to match", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  const { owner, host } = git;
  const apply = async (program: string) => {
    await host.commit({ "policies/a.yaml": forbidding(program) });
    return (await git.apply()).body.plan[0].action;
  };
  for (const program of ["nmap", "nc", "ssh"]) await apply(program);
  const { body: { policies: [{ id }] } } = await git.get("policies");
  const rollBack = (version: string) => post(world, owner, "rollback", { policy_id: id, version });
  await rollBack("1");
  await post(world, owner, `policies/${id}/unpin`);
  await rollBack("2");
  eq(await apply("ssh"), "pinned");

  // The file changes to match the version in force: with a pin, and without.
  eq(await apply("nc"), "unpin");
  await rollBack("1");
  eq(await apply("nc"), "pinned");
  await post(world, owner, `policies/${id}/unpin`);
  eq(await apply("nmap"), "unchanged");
  await rollBack("3");
  eq(await apply("nmap"), "pinned");
  eq(await apply("nc"), "update");
});

Deno.test("unpin: the policy follows its repository again", async () => {
  await using world = await World.open();
  const git = await withRepository(world, SYNCED);
  const { owner, host } = git;
  for (const program of ["nmap", "nc"]) {
    await host.commit({ "policies/a.yaml": forbidding(program) });
    await git.apply();
  }
  const { body: { policies: [{ id }] } } = await git.get("policies");
  eq((await post(world, owner, `policies/${id}/unpin`)).status, 409);
  await post(world, owner, "rollback", { policy_id: id, version: "1" });
  await world.settle();
  eq((await post(world, owner, `policies/${id}/unpin`)).status, 200);
  await world.settle();
  deq(await inForce(git), [["a", "3", false]]);
  const { body } = await git.get(`policies/${id}/diff?from=1&to=3`);
  deq(body.changes.map((one: Record<string, unknown>) => [one["path"], one["kind"]]), [
    ["rules.no-nmap", "removed"],
    ["rules.no-nc", "added"],
  ]);
  deq((await git.get(`policies/${id}/diff?from=2&to=3`)).body.changes, []);
});

Deno.test("unpin: keeps the due time of a waiting push", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { policy_path: "policies", webhook_secret: HOOK_SECRET });
  const { owner, host } = git;
  for (const program of ["nmap", "nc"]) {
    await host.commit({ "policies/a.yaml": forbidding(program) });
    await git.apply();
  }
  const { body: { policies: [{ id }] } } = await git.get("policies");
  await post(world, owner, "rollback", { policy_id: id, version: "1" });
  await host.commit({ "policies/a.yaml": forbidding("ssh") });
  await pushSigned(world, git);
  await world.settle();
  eq((await post(world, owner, `policies/${id}/unpin`)).status, 200);
  await world.advance(MINUTE_MS);
  deq(await inForce(git), [["a", "3", false]]);
});

Deno.test("syncs: an internal error is reported, and backs off like any failure", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { ...SYNCED, sync_seconds: 600, token: "a token" });
  await world.settle();
  const tenant = { org: git.owner.org, space: "live" } as const;
  const { store, sealer, ports } = world.app;
  await store.transact(async (tx) => {
    const repository = (await tx.get(repositories, tenant, git.repositoryId))!;
    const due = { failures: 0, due_at_ms: ports.clock.now() };
    // A text that was sealed for another record cannot be opened here.
    const sealed_authorization = sealer.seal("Basic x", "another");
    tx.put(repositories, tenant, { ...repository, ...due, sealed_authorization });
  });
  await world.advance(10 * MINUTE_MS);
  const { body: { last_sync } } = await git.get(`repos/${git.repositoryId}`);
  eq(last_sync.error, FAULTS.INTERNAL_ERROR.title);
  const told = (await eventsOf(world, git.owner, git.repositoryId)).at(-1);
  deq([told?.event_type, told?.details["reason"]], ["repository_sync_failed", last_sync.error]);
  eq(world.logged.filter(({ message }) => message === "a sync failed").length, 1);
});

Deno.test("rollback: refuses an unknown policy or version, and changes nothing", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await git.apply();
  const { body: { policies: [{ id }] } } = await git.get("policies");
  const stranger = await world.signUp();
  const wrong = async (account: Account, policy_id: string, version: string) =>
    (await post(world, account, "rollback", { policy_id, version })).body.error.code;
  eq(await wrong(git.owner, "pol_none", "1"), "POLICY_NOT_FOUND");
  eq(await wrong(git.owner, id, "2"), "NOT_FOUND");
  eq(await wrong(stranger, id, "1"), "POLICY_NOT_FOUND");
  eq(
    (await post(world, stranger, "apply", {
      repo_url: git.host.url,
      branch: "main",
      policy_path: "",
    })).status,
    404,
  );
  deq(await inForce(git), [["a", "1", false]]);
});

Deno.test("repositories.delete: refuses while its policies are in force, unless they are to be deleted too", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { token: "a secret token", ...SYNCED });
  const { owner, repositoryId, host } = git;
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  await git.apply();
  const sent = world.network.sent.at(-1)?.headers["authorization"];
  eq(sent, `Basic ${btoa("relay:a secret token")}`);
  const shown = await git.get(`repos/${repositoryId}`);
  ok(!shown.text.includes("secret token") && shown.body.has_credentials);
  for (const { value } of await rawRows(world.kv)) {
    ok(!Deno.inspect(value, { depth: 9 }).includes("secret token"));
  }
  const twice = await post(world, owner, "repos", {
    name: "again",
    provider: "github",
    url: "https://git.example.com/acme/policies/",
  });
  eq(twice.status, 409);
  const path = `/api/v1/gitops/repos/${repositoryId}`;
  eq((await world.call("DELETE", path, { as: owner.token })).status, 409);
  eq((await world.call("DELETE", `${path}?policies=delete`, { as: owner.token })).status, 204);
  deq(await inForce(git), []);
  ok((await world.trail(owner)).includes("policy_deleted"));
  eq((await git.get(`repos/${repositoryId}`)).status, 404);
  const asked = host.asked;
  await world.advance(2 * MINUTE_MS);
  eq(host.asked, asked);
});

Deno.test("repositories.create: refuses addresses that may not be dialled or are not a repository's", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (
    const url of [
      "http://git.example.com/a.git",
      "ssh://git@git.example.com/a.git",
      "https://user:secret@git.example.com/a.git",
      "https://127.0.0.1/a.git",
      "https://git.example.com/",
      "https://git.example.com/a?b=c",
      "git.example.com/a",
    ]
  ) {
    const answer = await post(world, owner, "repos", { name: "x", provider: "github", url });
    deq([url, answer.status], [url, 400]);
    eq(answer.body.error.details.issues[0].path, "body.url");
  }
});

Deno.test("syncs: only one of two instances syncs a due repository", async () => {
  const kv = await Deno.openKv(":memory:");
  const first = await World.open({ kv: shared(kv), sole: false });
  const git = await withRepository(first, SYNCED);
  await first.settle();
  const second = await World.open({ kv: shared(kv), sole: false, seed: 2, clock: first.clock });
  second.network.reply = (request) => git.host.reply(request);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await first.settle();
  const { due_at_ms } = (await first.app.store.list(repositories, {
    org: git.owner.org,
    space: "live",
  }, { limit: 1 })).items[0]!;
  first.clock.advance(due_at_ms! - first.clock.nowMs);
  const asked = git.host.asked;
  for (const { app } of [first, second]) app.syncs.wake();
  for (const world of [first, second, first]) await world.settle();
  // One request for the head, and two of a fetch.
  eq(git.host.asked - asked, 3);
  deq(await inForce(git), [["a", "1", false]]);
  for (const world of [second, first]) await world[Symbol.asyncDispose]();
  kv.close();
});

Deno.test("versions: the oldest beyond the limit are deleted, but none in force and not the last two of a policy", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  const { host, owner } = git;
  for (const program of ["nc", "nmap"]) {
    await host.commit({ "policies/a.yaml": forbidding(program) });
    await git.apply();
  }
  const { body: { policies: [{ id: policy_id }] } } = await git.get("policies");
  const tenant = { org: owner.org, space: "live" } as const;
  const { store } = world.app;
  const [first] = (await store.list(policyVersions, tenant, { limit: 1 })).items;
  // Versions of a deleted policy, all of them newer.
  for (let n = 1; n <= VERSIONS_KEPT; n += 100) {
    await store.transact((tx) => {
      for (let version = n; version < n + 100; version++) {
        const id = versionId({ id: "pol_zzz", version });
        const created_at_ms = world.clock.nowMs + version;
        tx.insert(policyVersions, tenant, {
          ...first!,
          id,
          policy_id: "pol_zzz",
          version,
          created_at_ms,
        });
      }
    });
  }
  await world.advance(MINUTE_MS);
  const is = async (id: string) => await store.get(policyVersions, tenant, id) !== null;
  const apply = async (files: Record<string, string>) => {
    await host.commit(files);
    await git.apply();
    await world.settle();
  };
  // Now the first of three versions of a policy exceeds the limit, and is the oldest.
  const [a, b] = [forbidding("ssh"), forbidding("nc")];
  await apply({ "policies/a.yaml": a, "policies/b.yaml": b });
  deq([await is(`${policy_id}.000001`), await is(`${policy_id}.000002`)], [false, true]);
  eq(await store.count(policyVersions, tenant), VERSIONS_KEPT + 3);
  eq((await post(world, owner, "rollback", { policy_id, version: "2" })).status, 200);
  // Then the oldest version of the deleted policy goes, because the rollback put the older one in force.
  for (const program of ["scp", "rsync"]) {
    await apply({ "policies/a.yaml": a, "policies/b.yaml": forbidding(program) });
  }
  deq([await is("pol_zzz.000001"), await is("pol_zzz.000002")], [false, true]);
  eq((await git.get(`policies/${policy_id}`)).body.version, "2");
});

Deno.test("versions: are listed newest first over all policies, including those of earlier releases", async () => {
  const kv = await Deno.openKv(":memory:");
  const first = await World.open({ kv: shared(kv) });
  const git = await withRepository(first);
  const { host, owner } = git;
  for (const [a, b] of [["nmap", "nc"], ["ssh", "nc"], ["ssh", "scp"], ["nmap", "scp"]]) {
    await host.commit({ "policies/a.yaml": forbidding(a!), "policies/b.yaml": forbidding(b!) });
    await git.apply();
    await first.advance(1_000);
  }
  const listed = async (world: World) => {
    const answer = await world.call("GET", "/api/v1/gitops/versions?limit=4", { as: owner.token });
    return answer.body.versions.map(({ name, version }: Record<string, string>) =>
      `${name}${version}`
    );
  };
  const newestFirst = await listed(first);
  deq(newestFirst.slice(0, 3), ["a3", "b2", "a2"]);
  await first[Symbol.asyncDispose]();
  for (const { key, kind } of await rawRows(kv, owner)) {
    if (kind === "policy_versions.age") await kv.delete(key);
  }
  await kv.set(SCHEMA_KEY, 0);
  const second = await World.open({ kv: shared(kv), seed: 2, clock: first.clock });
  deq(await listed(second), newestFirst);
  await second[Symbol.asyncDispose]();
  kv.close();
});

Deno.test("nextLookMs: varies by a tenth, and doubles with each failure up to an hour", () => {
  const at = (failures: number, unit: number, sync_seconds: number | null = 300) =>
    nextLookMs({ sync_seconds, failures }, 1_000_000, unit);
  deq([at(0, 0), at(0, 0.5), at(0, 1)], [1_270_000, 1_300_000, 1_330_000]);
  deq([at(1, 0.5), at(3, 0.5), at(40, 0.5)], [1_600_000, 3_400_000, 4_600_000]);
  eq(at(9, 0.5, 24 * 3600), 1_000_000 + 24 * 3600 * 1000);
  deq([at(0, 0.5, null), at(1, 0.5, null), at(40, 0.5, null)], [null, 1_060_000, 2_920_000]);
});
