import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { sweepQueued } from "../../core/agents/agents.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { claimingPair, failNext, lost } from "./claims.ts";

const runs = (...agents: ScriptedAgent[]) =>
  agents.map(({ received }) => received.filter(({ type }) => type === "run").length);

for (const asked of ["one", "two"] as const) {
  Deno.test(`claims: a command whose claim has no reply fails unsent, asked at ${asked}`, async () => {
    await using cluster = await claimingPair();
    const { agent, atClaim, exec, rest, row } = cluster;
    atClaim(async (commit) => {
      await commit();
      throw lost();
    });
    const answer = exec(cluster[asked]);
    eq((await answer).status, 503);
    await rest();
    deq([(await row()).status, runs(agent)], ["failed", [0]]);
  });

  Deno.test(`claims: a commit that comes after its claim was given up has no effect, asked at ${asked}`, async () => {
    await using cluster = await claimingPair();
    const { agent, atClaim, exec, one, rest, row } = cluster;
    const held = Promise.withResolvers<() => Promise<Deno.KvCommitResult | Deno.KvCommitError>>();
    atClaim((commit) => {
      held.resolve(commit);
      return Promise.reject(lost());
    });
    const answer = exec(cluster[asked]);
    const commit = await held.promise;
    await rest();
    eq((await commit()).ok, false);
    one.clock.advance(5_000);
    eq((await answer).status, 503);
    deq([(await row()).status, runs(agent)], ["failed", [0]]);
  });
}

Deno.test("claims: a command that a later claim sent is not failed by an earlier one without a reply", async () => {
  await using cluster = await claimingPair();
  const { agent, atClaim, exec, one, rest, row, two } = cluster;
  agent.script = () => "silent";
  const refused = Promise.withResolvers<void>();
  atClaim(() => {
    failNext(one);
    refused.resolve();
    return Promise.reject(lost());
  });
  const answer = exec(two);
  await refused.promise;
  await rest();
  eq((await row()).status, "queued");
  await sweepQueued(one.app);
  const order = await agent.until("run");
  one.clock.advance(1_000);
  await rest();
  eq((await row()).status, "running");
  agent.finish({ command_id: order.commands[0]!.command_id, stdout: "once\n" });
  const { status, body } = await answer;
  deq([status, body.stdout, runs(agent)], [200, "once\n", [1]]);
});

Deno.test("claims: a command that another instance sent is neither sent nor failed by the first one", async () => {
  await using cluster = await claimingPair();
  const { agent, atClaim, exec, identity, one, rest, row, two, value } = cluster;
  const held = Promise.withResolvers<() => Promise<Deno.KvCommitResult | Deno.KvCommitError>>();
  atClaim((commit) => {
    failNext(one);
    held.resolve(commit);
    return Promise.reject(lost());
  });
  const answer = exec(two);
  const commit = await held.promise;
  const anew = await ScriptedAgent.open(two, value, { identity });
  anew.script = () => "silent";
  const order = await anew.until("run");
  eq((await commit()).ok, false);
  one.clock.advance(1_000);
  await rest();
  eq((await row()).status, "running");
  anew.finish({ command_id: order.commands[0]!.command_id, stdout: "once\n" });
  const { status, body } = await answer;
  deq([status, body.stdout, runs(agent, anew)], [200, "once\n", [0, 1]]);
});

Deno.test("claims: a claim is given up as soon as the store answers again", async () => {
  await using cluster = await claimingPair();
  const { agent, atClaim, exec, one, rest, row } = cluster;
  atClaim(async (commit) => {
    await commit();
    failNext(one);
    throw lost();
  });
  eq((await exec(one)).status, 503);
  await rest();
  eq((await row()).status, "running");
  one.clock.advance(1_000);
  await rest();
  deq([(await row()).status, runs(agent)], ["failed", [0]]);
});

Deno.test("claims: a command that is cancelled while it is claimed is cancelled once it is sent", async () => {
  await using cluster = await claimingPair();
  const { agent, atClaim, exec, one, owner, rest, row, two } = cluster;
  agent.script = () => "silent";
  const claimed = Promise.withResolvers<void>(), released = Promise.withResolvers<void>();
  atClaim(async (commit) => {
    const result = await commit();
    claimed.resolve();
    await released.promise;
    return result;
  });
  const answer = exec(two);
  await claimed.promise;
  const { id } = await row();
  const { commands } = one.app;
  const heard = Promise.withResolvers<boolean>(), cancel = commands.cancel.bind(commands);
  commands.cancel = (...args) => {
    const known = cancel(...args);
    heard.resolve(known);
    return known;
  };
  const path = `/api/v1/agents/${agent.id}/commands/${id}/cancel`;
  const cancelled = two.call("POST", path, { as: owner.token });
  eq(await heard.promise, true);
  deq(runs(agent), [0]);
  released.resolve();
  eq((await agent.until("cancel")).command_id, id);
  deq(agent.received.slice(-2).map(({ type }) => type), ["run", "cancel"]);
  agent.finish({ command_id: id, reason: "cancelled", exit_code: null, signal: "SIGTERM" });
  eq((await cancelled).body.status, "cancelled");
  await answer;
  await rest();
});
