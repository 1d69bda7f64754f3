import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import {
  forbidding,
  holdFetches,
  HOOK_SECRET,
  inForce,
  post,
  pushSigned,
  withRepository,
} from "./git_fixtures.ts";
import { committing } from "../support/kv.ts";
import { World } from "../support/world.ts";

const MINUTE_MS = 60_000;

Deno.test("apply: refuses to put an older commit in force after a concurrent apply of another one", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { policy_path: "policies" });
  const { host } = git;
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  await git.apply();
  await host.commit({ "policies/a.yaml": forbidding("nc") });
  const [fetch] = holdFetches(world, host, 1);
  const slow = git.apply();
  await fetch!.asked;
  const newer = await host.commit({ "policies/a.yaml": forbidding("ssh") });
  eq((await git.apply()).body.commit, newer);
  fetch!.go();
  const { status, body } = await slow;
  deq([status, body.error?.code], [409, "CONFLICT"]);
  deq(await inForce(git), [["a", "2", false]]);
  const { body: { applied_commit } } = await git.get(`repos/${git.repositoryId}`);
  eq(applied_commit, newer);
  // Two applies of the same commit both succeed.
  const both = await Promise.all([git.apply(), git.apply()]);
  deq(both.map((answer) => answer.status), [200, 200]);
});

Deno.test("apply: refuses an older commit after a newer one for any path of the repository", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  const { host } = git;
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  await git.apply();
  const older = await host.commit({ "policies/a.yaml": forbidding("nc") });
  const [fetch] = holdFetches(world, host, 1);
  const slow = git.apply();
  await fetch!.asked;
  // The set in force is as it was when the fetch began, although another commit was applied meanwhile.
  const newer = await host.commit({ "policies/a.yaml": forbidding("nmap") });
  eq((await git.apply()).body.commit, newer);
  fetch!.go();
  const { status, body } = await slow;
  deq([status, body.error?.code], [409, "CONFLICT"], older);
  deq(await inForce(git), [["a", "1", false]]);
});

Deno.test("syncs: a push whose sync was overtaken by an apply of an older commit is synced again", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { policy_path: "policies", webhook_secret: HOOK_SECRET });
  const { host } = git;
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  await git.apply();
  await world.advance(MINUTE_MS);
  await host.commit({ "policies/a.yaml": forbidding("nc") });
  const [applying, looking] = holdFetches(world, host, 2);
  const slow = git.apply();
  await applying!.asked;
  const newest = await host.commit({ "policies/a.yaml": forbidding("ssh") });
  await pushSigned(world, git);
  await looking!.asked;
  applying!.go();
  eq((await slow).status, 200);
  looking!.go();
  await world.settle();
  deq(await inForce(git), [["a", "3", false]]);
  const { body } = await git.get(`repos/${git.repositoryId}`);
  deq([body.applied_commit, body.last_sync.error], [newest, null]);
});

Deno.test("syncs: a push is synced again when a policy is unpinned during its sync", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { policy_path: "policies", webhook_secret: HOOK_SECRET });
  const { host, owner } = git;
  for (const program of ["nmap", "nc"]) {
    await host.commit({ "policies/a.yaml": forbidding(program) });
    await git.apply();
  }
  const { body: { policies: [{ id }] } } = await git.get("policies");
  await post(world, owner, "rollback", { policy_id: id, version: "1" });
  await world.advance(MINUTE_MS);
  const newest = await host.commit({ "policies/a.yaml": forbidding("ssh") });
  const [looking] = holdFetches(world, host, 1);
  await pushSigned(world, git);
  await looking!.asked;
  eq((await post(world, owner, `policies/${id}/unpin`)).status, 200);
  looking!.go();
  await world.settle();
  deq(await inForce(git), [["a", "3", false]]);
  eq((await git.get(`repos/${git.repositoryId}`)).body.applied_commit, newest);
});

Deno.test("apply: refuses more concurrent fetches than an organization may have", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  const held = Promise.withResolvers<void>();
  world.network.reply = async (request) => {
    await held.promise;
    return git.host.reply(request);
  };
  const dry = () => git.apply({ dry_run: true });
  const under = [dry(), dry(), dry()];
  await world.quiet();
  const beyond = await dry();
  deq([beyond.status, beyond.body.error.code], [503, "UNAVAILABLE"]);
  held.resolve();
  deq((await Promise.all(under)).map(({ status }) => status), [200, 200, 200]);
  eq((await dry()).status, 200);
});

Deno.test("syncs: slow hosts of one organization do not delay the policies of another", async () => {
  await using world = await World.open();
  const slow = await world.signUp();
  for (let n = 0; n < 20; n++) {
    const url = `https://slow.example.com/acme/r${n}.git`;
    await withRepository(world, { sync_seconds: 60 }, slow, url);
  }
  const git = await withRepository(world, { sync_seconds: 60, policy_path: "policies" });
  await world.settle();
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  const held = Promise.withResolvers<void>(), fetched = Promise.withResolvers<void>();
  let waiting = 0, isFetched = false;
  const check = () => {
    if (waiting > 2 || waiting === 2 && isFetched) fetched.resolve();
  };
  world.network.reply = async (request) => {
    if (request.url.includes("slow.example.com")) {
      waiting++;
      check();
      await held.promise;
      return 503;
    }
    isFetched ||= request.method === "POST";
    check();
    return git.host.reply(request);
  };
  // All of them are due.
  world.clock.nowMs += 10 * MINUTE_MS;
  world.app.syncs.wake();
  await fetched.promise;
  const together = waiting;
  held.resolve();
  await world.settle();
  eq(together, 2);
  deq(await inForce(git), [["a", "1", false]]);
});

Deno.test("syncs: do not loop while the store cannot be written", async () => {
  let refused = 0;
  const kv = committing(await Deno.openKv(":memory:"), (commit) => {
    if (refused === 0) return commit();
    refused--;
    return Promise.reject(new Error("database or disk is full"));
  });
  await using world = await World.open({ kv });
  const git = await withRepository(world, { sync_seconds: 60, policy_path: "policies" });
  await world.settle();
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  world.clock.nowMs += 10 * MINUTE_MS;
  refused = 100;
  world.app.syncs.wake();
  await world.app.syncs.idle();
  eq(100 - refused, 1);
  refused = 0;
  world.app.syncs.wake();
  await world.settle();
  deq(await inForce(git), [["a", "1", false]]);
});
