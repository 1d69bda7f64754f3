import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { recoverCommands } from "../../../core/agents/commands/recover.ts";
import { coalescedLine } from "../../../kv/store/coalesced.ts";
import { losesReply } from "../../support/kv.ts";
import { World } from "../../support/world.ts";
import { comeBack, eventsOf, exec, finish, linkAgent, runsOf } from "../../support/linked_agent.ts";

Deno.test("command: a cut through a surrogate pair leaves its event valid", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const command = `echo ${"x".repeat(1_994)}\u{1f600} done`;
  const { status, body } = await exec(world, here, command);
  eq(status, 200);
  const [event] = await eventsOf(world, here.owner, body.command_id);
  ok(String(event!.details.command).isWellFormed());
  eq(event!.details.command_truncated, true);
});

Deno.test("command: an unpaired surrogate is refused before anything runs", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const answer = await world.call("POST", `/api/v1/agents/${here.agent.id}/commands`, {
    as: here.owner.token,
    body: '{"command":"echo \\ud800"}',
    headers: { "content-type": "application/json" },
  });
  deq([answer.status, answer.body.error.code], [400, "VALIDATION_FAILED"]);
  deq(runsOf(here.agent), []);
});

Deno.test("recoverCommands: an unreadable line stays and does not keep the relay from starting", async () => {
  await using world = await World.open();
  const { store } = world.app;
  const key = ["~", "lane", "commands/ins_dead"];
  await store.coalesce(coalescedLine(key, "not JSON"));
  eq(await recoverCommands(world.app), 0);
  const left = [];
  for await (const entry of world.kv.list({ prefix: key })) left.push(entry.key);
  eq(left.length, 1);
  ok(world.logged.some(({ message }) => message.includes("could not be recovered")));
  eq(await store.count({ name: "organizations", cached: 0 }, SYSTEM), 0);
});

Deno.test("command: output full of control characters is kept, byte for byte", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const piece = "\0\x01\x02\u00e9".repeat(2_000);
  here.agent.script = ({ command_id }) => {
    for (let n = 0; n < 40; n++) {
      here.agent.send({ type: "output", command_id, stream: "stdout", data: piece });
    }
    return { stdout: "end", stderr: "err\u00e9" };
  };
  const { status, body } = await exec(world, here, "cat /bin/true");
  eq(status, 200);
  eq(body.stdout, piece.repeat(40) + "end");
  const path = `/api/v1/agents/${here.agent.id}/commands/${body.command_id}`;
  const later = await world.call("GET", path, { as: here.owner.token });
  deq([later.body.stdout === body.stdout, later.body.stderr], [true, "err\u00e9"]);
});

Deno.test("command: the output of a late result follows what arrived before the link broke", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const early = "x".repeat(12_000);
  here.agent.script = ({ command_id }) => {
    here.agent.send({ type: "output", command_id, stream: "stdout", data: early });
    return "silent";
  };
  const { again, command_id } = await comeBack(world, here);
  finish(again, command_id, { stdout: "tail", truncated: true });
  await world.settle();
  const path = `/api/v1/agents/${here.agent.id}/commands/${command_id}`;
  const { body } = await world.call("GET", path, { as: here.owner.token });
  deq([body.status, body.stdout === `${early}tail`, body.truncated], ["succeeded", true, true]);
});

Deno.test("command: a clock that jumps back while it runs neither hides its record nor ends it twice", async () => {
  const { kv, loseNext } = losesReply(await Deno.openKv(":memory:"), true);
  await using world = await World.open({ kv });
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  for (const lost of [false, true]) {
    const asked = exec(world, here, "date");
    await world.settle();
    const { command_id } = runsOf(here.agent).at(-1)!;
    world.clock.nowMs -= 60_000;
    if (lost) loseNext();
    finish(here.agent, command_id, { stdout: "now" });
    eq((await asked).status, lost ? 503 : 200);
    await world.advance(1_000);
    const path = `/api/v1/agents/${here.agent.id}/commands/${command_id}`;
    const { body } = await world.call("GET", path, { as: here.owner.token });
    deq([body.status, body.stdout], ["succeeded", "now"]);
    const types = (await eventsOf(world, here.owner, command_id)).map((event) => event.event_type);
    deq(types, ["command_executed"]);
  }
});

Deno.test("command: a late result is truncated exactly if its output did not arrive whole", async () => {
  for (const [lost, truncated] of [["of meanwhile, ", true], ["", false]] as const) {
    await using world = await World.open();
    const here = await linkAgent(world);
    here.agent.script = () => "silent";
    const { again, command_id } = await comeBack(world, here);
    // No command waits for it, so it is not kept.
    if (lost) again.send({ type: "output", command_id, stream: "stdout", data: lost });
    finish(again, command_id, { stdout: "the end" });
    await world.settle();
    const path = `/api/v1/agents/${here.agent.id}/commands/${command_id}`;
    const { body } = await world.call("GET", path, { as: here.owner.token });
    deq([body.status, body.stdout, body.truncated], ["succeeded", "the end", truncated]);
  }
});

Deno.test("commands.start: one request writes one record of the key's use, with its status", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const body = { command: "uptime", wait: 5 };
  const as = here.key.value;
  const answer = await world.call("POST", `/api/v1/agents/${here.agent.id}/commands`, { as, body });
  eq(answer.body.status, "succeeded");
  await world.settle();
  const trail = await world.call("GET", "/api/audit?event_type=api_key_used&limit=200", {
    as: here.owner.token,
  });
  const uses = (trail.body.events as { details: { endpoint: string; status: number } }[])
    .filter(({ details }) => details.endpoint === "POST /api/v1/agents/{id}/commands");
  deq(uses.map(({ details }) => details.status), [202]);
});

Deno.test("Idempotency-Key: a denied command stays denied, on repetition and for simultaneous requests", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const ask = () =>
    world.call("POST", `/api/v1/agents/${here.agent.id}/commands`, {
      as: here.owner.token,
      body: { command: "rm -rf /" },
      headers: { "idempotency-key": "once" },
    });
  const answers = [...await Promise.all([ask(), ask()]), await ask()];
  deq(answers.map(({ status }) => status), [403, 403, 403]);
  eq(new Set(answers.map(({ body }) => body.error.details.command_id)).size, 1);
});
