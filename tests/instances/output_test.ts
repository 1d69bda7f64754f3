import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { openMemoryStore } from "../cluster/shared_store.ts";
import { type Json, Reader, requestOf } from "../mcp/client.ts";
import type { OutputPiece } from "../../kv/instances/output.ts";
import { committing } from "../support/kv.ts";
import { linkAgent, runsOf } from "../support/linked_agent.ts";
import { rawRows } from "../support/raw_rows.ts";
import { World } from "../support/world.ts";
import { pair } from "./pair.ts";

/** A command that a client of the second instance runs, over the link of the first. */
async function running(meta: Json) {
  const cluster = await pair();
  const { two, owner, agent } = cluster;
  agent.script = () => "silent";
  const params = { name: "run_command", arguments: { agent_id: agent.id, command: "work" } };
  const options = { as: owner.token, style: "modern", meta } as const;
  const reader = new Reader(await two.send(requestOf("tools/call", params, options)));
  const command_id = (await agent.until("run")).commands[0]!.command_id;
  return {
    ...cluster,
    reader,
    /** Everything that the client gets. */
    whole: reader.until(Infinity),
    write: (data: string) => agent.send({ type: "output", command_id, stream: "stdout", data }),
    finish: () => agent.finish({ command_id }),
    /** The pieces that are stored. */
    pieces: () => rawRows<OutputPiece>(two.kv, { org: "~", space: "out" }),
  };
}

/** Lets time pass for both instances until so many notifications have come. */
async function until({ one, two, reader }: Awaited<ReturnType<typeof running>>, count: number) {
  while (reader.messages.length < count) {
    one.clock.advance(100);
    for (const world of [one, two]) await world.settle();
  }
  return reader.messages.map(({ params }) => params.message);
}

Deno.test("instances: output comes to a follower at another instance while the command runs", async () => {
  await using cluster = await running({ progressToken: "p" });
  cluster.write("one\n");
  deq(await until(cluster, 1), ["one\n"]);
  cluster.write("two\n");
  deq(await until(cluster, 2), ["one\n", "two\n"]);
  cluster.finish();
  const all = await cluster.whole;
  eq(all.at(-1).result.structuredContent.stdout, "one\ntwo\n");
});

Deno.test("instances: a follower who asks while a command is being claimed gets its output at once", async () => {
  const { opened: kv } = openMemoryStore();
  let gate = Promise.resolve();
  const held = committing(kv, (commit) => gate.then(commit));
  await using one = await World.open({ kv: held, sole: false });
  await using two = await World.open({ kv, sole: false, clock: one.clock, seed: 2 });
  const { agent, key } = await linkAgent(one);
  agent.script = () => "silent";
  await one.settle();
  const claims = Promise.withResolvers<void>();
  gate = claims.promise;
  const params = { name: "run_command", arguments: { agent_id: agent.id, command: "work" } };
  const options = { as: key.value, style: "modern", meta: { progressToken: "p" } } as const;
  const reader = new Reader(await two.send(requestOf("tools/call", params, options)));
  await two.settle();
  claims.resolve();
  for (const world of [one, two]) await world.settle();
  const { command_id } = runsOf(agent)[0]!;
  agent.send({ type: "output", command_id, stream: "stdout", data: "one\n" });
  const [first] = await reader.until(1);
  eq(first.params.message, "one\n");
  agent.finish({ command_id });
  await reader.until(Infinity);
});

Deno.test("instances: followed output is sent in pieces of 16 KiB, and small ones at least 25 ms apart", async () => {
  await using cluster = await running({ progressToken: "p" });
  const { one } = cluster;
  cluster.write("first");
  await until(cluster, 1);
  const before = (await cluster.pieces()).length;
  for (let n = 0; n < 4; n++) {
    cluster.write("x");
    await one.settle();
  }
  eq((await cluster.pieces()).length - before <= 1, true);
  for (let n = 0; n < 4; n++) cluster.write("é".repeat(8 * 1024));
  const text = `firstxxxx${"é".repeat(32 * 1024)}`;
  let told: string[] = [];
  while (told.join("") !== text) told = await until(cluster, told.length + 1);
  eq(Math.max(...(await cluster.pieces()).map(({ value }) => value.bytes)), 16 * 1024);
  cluster.finish();
  await cluster.whole;
});

Deno.test("instances: output that nobody follows is not written while the command runs", async () => {
  await using cluster = await running({});
  const { one, two } = cluster;
  cluster.write("one\n");
  for (let n = 0; n < 5; n++) {
    one.clock.advance(100);
    for (const world of [one, two]) await world.settle();
  }
  deq(await cluster.pieces(), []);
  cluster.finish();
  await cluster.whole;
});
