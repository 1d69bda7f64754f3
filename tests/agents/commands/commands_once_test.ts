import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { OUTPUT_BYTES_MAX } from "../../../core/agents/commands/running_output.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { committing, losesReply, overKv, shared } from "../../support/kv.ts";
import { World } from "../../support/world.ts";
import { eventsOf, exec, finish, linkAgent, runsOf } from "../../support/linked_agent.ts";

const typesOf = async (...args: Parameters<typeof eventsOf>) =>
  (await eventsOf(...args)).map(({ event_type }) => event_type);

Deno.test("Idempotency-Key: a repeated request gets the first one's answer, and nothing runs again", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const first = await exec(world, here, "date", { idempotencyKey: "k1" });
  here.agent.script = () => ({ stdout: "another time" });
  await world.advance(30_000);
  const second = await exec(world, here, "date", { idempotencyKey: "k1" });
  deq([second.status, second.body], [first.status, first.body]);
  eq(runsOf(here.agent).length, 1);
  eq((await exec(world, here, "date", { idempotencyKey: "k2" })).body.stdout, "another time");
});

Deno.test("Idempotency-Key: simultaneous requests with one key execute once and get one answer", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const twins = [1, 2, 3].map(() => exec(world, here, "date", { idempotencyKey: "k1" }));
  await world.settle();
  const runs = runsOf(here.agent);
  eq(runs.length, 1);
  finish(here.agent, runs[0]!.command_id, { stdout: "now" });
  const [one, ...others] = await Promise.all(twins);
  eq(one!.body.stdout, "now");
  for (const other of others) deq(other.body, one!.body);
  deq(await typesOf(world, here.owner, runs[0]!.command_id), ["command_executed"]);
});

Deno.test("Idempotency-Key: a request that finds the row before its writer returns waits for the same end", async () => {
  const engine = await Deno.openKv(":memory:");
  const written = Promise.withResolvers<void>(), found = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  let holding = false;
  const held = committing(engine, async (commit) => {
    const made = await commit();
    if (!holding) return made;
    holding = false;
    written.resolve();
    await told.promise;
    return made;
  });
  const get = async (key: Deno.KvKey) => {
    const entry = await engine.get(key);
    if (key.includes("commands") && entry.value !== null) found.resolve();
    return entry;
  };
  await using world = await World.open({ kv: overKv(held, { get: get as Deno.Kv["get"] }) });
  const here = await linkAgent(world);
  holding = true;
  const first = exec(world, here, "date", { idempotencyKey: "k1" });
  await written.promise;
  const twin = exec(world, here, "date", { idempotencyKey: "k1" });
  await found.promise;
  told.resolve();
  const { status, body } = await first;
  deq([(await twin).status, (await twin).body], [status, body]);
  eq(body.status, "succeeded");
});

Deno.test("Idempotency-Key: a request that read the command just before its end gets the end", async () => {
  const engine = await Deno.openKv(":memory:");
  const read = Promise.withResolvers<void>(), told = Promise.withResolvers<void>();
  let holding = false;
  const get = async (key: Deno.KvKey) => {
    const entry = await engine.get(key);
    if (!holding || !key.includes("commands") || entry.value === null) return entry;
    holding = false;
    read.resolve();
    await told.promise;
    return entry;
  };
  await using world = await World.open({ kv: overKv(engine, { get: get as Deno.Kv["get"] }) });
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const first = exec(world, here, "date", { idempotencyKey: "k1" });
  await world.settle();
  holding = true;
  const twin = exec(world, here, "date", { idempotencyKey: "k1" });
  await read.promise;
  finish(here.agent, runsOf(here.agent)[0]!.command_id, { stdout: "now" });
  const { status, body } = await first;
  told.resolve();
  deq([(await twin).status, (await twin).body], [status, body]);
  eq(body.stdout, "now");
});

Deno.test("Idempotency-Key: another command, timeout or agent under the same key is 409", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const there = await ScriptedAgent.connect(world, here.key.value, { name: "web-2" });
  const first = await exec(world, here, "date", { idempotencyKey: "k1" });
  const others = [
    await exec(world, here, "uptime", { idempotencyKey: "k1" }),
    await exec(world, here, "date", { idempotencyKey: "k1", timeout: 9 }),
    await exec(world, { ...here, agent: there }, "date", { idempotencyKey: "k1" }),
  ];
  for (const { status, body } of others) {
    deq([status, body.error.code], [409, "CONFLICT"]);
    eq(body.error.details.command_id, first.body.command_id);
  }
  // Keys of another caller are independent.
  eq((await exec(world, here, "uptime", { as: here.key.value, idempotencyKey: "k1" })).status, 200);
  deq([runsOf(here.agent).length, runsOf(there).length], [2, 0]);
  for (const idempotencyKey of ["with space", "x".repeat(256)]) {
    eq((await exec(world, here, "date", { idempotencyKey })).status, 400);
  }
});

Deno.test("Idempotency-Key: a denied and a lost command are answered as before, not run again", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const denied = () => exec(world, here, "rm -rf /", { idempotencyKey: "bad" });
  const [first, second] = [await denied(), await denied()];
  deq([first.status, second.status], [403, 403]);
  eq(second.body.error.details.command_id, first.body.error.details.command_id);
  here.agent.script = () => "silent";
  const asked = exec(world, here, "make", { idempotencyKey: "lost" });
  await world.settle();
  here.agent.drop();
  eq((await asked).status, 502);
  const back = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
  });
  eq((await exec(world, here, "make", { idempotencyKey: "lost" })).status, 502);
  deq(runsOf(back), []);
});

Deno.test("output: chunks are joined in order, and large output is returned whole", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const piece = (n: number) => `${n}:${"é".repeat(8_000)}\n`;
  here.agent.script = ({ command_id }) => {
    for (let n = 0; n < 40; n++) {
      const stream = n % 2 === 0 ? "stdout" : "stderr";
      here.agent.send({ type: "output", command_id, stream, data: piece(n) });
    }
    finish(here.agent, command_id, { stdout: "the end", truncated: false });
    return "silent";
  };
  const { body } = await exec(world, here, "make");
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const half = (odd: number) => numbers.filter((n) => n % 2 === odd).map(piece).join("");
  eq(body.stdout, `${half(0)}the end`);
  eq(body.stderr, half(1));
  eq(body.truncated, false);
  const path = `/api/v1/agents/${here.agent.id}/commands/${body.command_id}`;
  deq((await world.call("GET", path, { as: here.owner.token })).body, body);
  const [event] = await eventsOf(world, here.owner, body.command_id);
  eq(event!.details.output_bytes, new TextEncoder().encode(body.stdout + body.stderr).length);
});

Deno.test("output: at most 1 MiB is kept, and `truncated` marks the rest", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const data = "x".repeat(16 * 1024);
  here.agent.script = ({ command_id }) => {
    for (let n = 0; n < 70; n++) {
      here.agent.send({ type: "output", command_id, stream: "stdout", data });
    }
    finish(here.agent, command_id);
    return "silent";
  };
  const { body } = await exec(world, here, "yes");
  deq([body.stdout.length, body.truncated, body.status], [OUTPUT_BYTES_MAX, true, "succeeded"]);
  here.agent.script = ({ command_id }) => {
    finish(here.agent, command_id, { stdout: "short", truncated: true });
    return "silent";
  };
  eq((await exec(world, here, "yes")).body.truncated, true);
});

Deno.test("exec: HEAD, POST and prefetch requests run nothing, and no cache keeps the answer", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  for (const purpose of ["prefetch", "prefetch;prerender"]) {
    const answer = await exec(world, here, "date", { headers: { "sec-purpose": purpose } });
    deq([answer.status, answer.body.error.code], [403, "FORBIDDEN"]);
  }
  const path = `/api/exec/${here.agent.id}?command=date`;
  const head = await world.call("HEAD", path, { as: here.owner.token });
  deq([head.status, head.headers.get("allow")], [405, "GET"]);
  eq((await world.call("POST", path, { as: here.owner.token })).status, 405);
  deq(runsOf(here.agent), []);
  const good = await exec(world, here, "date");
  eq(good.headers.get("cache-control"), "no-store");
});

Deno.test("exec: the schema refuses invalid commands before anything else reads them", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  for (const command of ["", "a\0b", "x".repeat(16 * 1024 + 1)]) {
    const { status, body } = await exec(world, here, command);
    deq([status, body.error.details.issues[0].path], [400, "query.command"]);
  }
  const long = `echo ${"x".repeat(16 * 1024 - 5)}`;
  const { body } = await exec(world, here, long);
  deq([body.status, body.command], ["succeeded", long]);
  const [event] = await eventsOf(world, here.owner, body.command_id);
  deq([String(event!.details.command).length, event!.details.command_truncated], [2_000, true]);
});

Deno.test("commands: commands of another organization or agent are not found", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const there = await ScriptedAgent.connect(world, here.key.value, { name: "web-2" });
  const stranger = await linkAgent(world);
  const { body: { command_id } } = await exec(world, here, "date");
  const at = (agent: string, as: string) =>
    world.call("GET", `/api/v1/agents/${agent}/commands/${command_id}`, { as });
  eq((await at(here.agent.id, stranger.owner.token)).body.error.code, "AGENT_NOT_FOUND");
  eq((await at(stranger.agent.id, stranger.owner.token)).body.error.code, "NOT_FOUND");
  eq((await at(there.id, here.owner.token)).body.error.code, "NOT_FOUND");
  eq((await at(here.agent.id, here.owner.token)).status, 200);
});

Deno.test("exec: a command reaches the agent only after it is recorded, and never if recording fails", async () => {
  const hold = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let mode: "open" | "held" | "broken" = "open";
  const kv = committing(await Deno.openKv(":memory:"), async (commit) => {
    if (mode === "broken") throw new Error("no disk");
    if (mode === "held") {
      mode = "open";
      reached.resolve();
      await hold.promise;
    }
    return await commit();
  });
  await using world = await World.open({ kv });
  const here = await linkAgent(world);
  await world.settle();
  for (const idempotencyKey of [undefined, "k1"]) {
    mode = "broken";
    const { status } = await exec(world, here, "date", {
      ...(idempotencyKey && { idempotencyKey }),
    });
    deq([status, runsOf(here.agent)], [503, []]);
    mode = "open";
  }
  mode = "held";
  const asked = exec(world, here, "date");
  await reached.promise;
  deq(runsOf(here.agent), []);
  hold.resolve();
  eq((await asked).status, 200);
  eq(runsOf(here.agent).length, 1);
});

Deno.test("commands: a command that ran when the relay crashed is lost, reported once, and never sent again", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const here = await linkAgent(dead);
  const { body: ended } = await exec(dead, here, "uptime");
  here.agent.script = () => "silent";
  exec(dead, here, "make").catch(() => {});
  exec(dead, here, "make check", { idempotencyKey: "k1" }).catch(() => {});
  await dead.settle();
  const ids = runsOf(here.agent).slice(1).map(({ command_id }) => command_id);
  eq(ids.length, 2);
  // The process has crashed: nothing was stopped, and its journal still holds the last ends.
  await using world = await World.open({ kv, seed: 2, clock: dead.clock });
  const back = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
  });
  const get = async (id: string) => {
    const path = `/api/v1/agents/${here.agent.id}/commands/${id}`;
    return (await world.call("GET", path, { as: here.owner.token })).body;
  };
  deq([await get(ended.command_id)], [ended]);
  deq(await typesOf(world, here.owner, ended.command_id), ["command_executed"]);
  for (const id of ids) {
    eq((await get(id)).status, "lost");
    deq(await typesOf(world, here.owner, id), ["command_failed"]);
  }
  eq((await exec(world, here, "make check", { idempotencyKey: "k1" })).status, 502);
  deq(runsOf(back), []);
  finish(back, ids[0]!, { stdout: "made" });
  await world.settle();
  deq([(await get(ids[0]!)).status, (await get(ids[0]!)).stdout], ["succeeded", "made"]);
});

for (const made of [true, false]) {
  const what = made ? "was made" : "was not made";
  Deno.test(`commands: an end whose commit ${what}, and nobody heard of it, is on record once`, async () => {
    const { kv, loseNext } = losesReply(await Deno.openKv(":memory:"), made);
    await using world = await World.open({ kv });
    const here = await linkAgent(world);
    here.agent.script = () => "silent";
    const asked = exec(world, here, "date");
    await world.settle();
    const { command_id } = runsOf(here.agent)[0]!;
    loseNext();
    finish(here.agent, command_id, { stdout: "now" });
    eq((await asked).status, 503);
    for (let tries = 0; tries < 3; tries++) await world.advance(1_000);
    deq(await typesOf(world, here.owner, command_id), ["command_executed"]);
    const path = `/api/v1/agents/${here.agent.id}/commands/${command_id}`;
    const { body } = await world.call("GET", path, { as: here.owner.token });
    deq([body.status, body.stdout], ["succeeded", "now"]);
  });
}
