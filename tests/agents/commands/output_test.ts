import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { linkAgent } from "../../support/linked_agent.ts";
import { random } from "../../support/random.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { World } from "../../support/world.ts";
import { follow, play, readAll, readBytes, transcript } from "./output_fixtures.ts";

const MIB = 1024 * 1024;

Deno.test("commands.output: two readers and a late one see the same bytes, and so does one after the end", async () => {
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  const early = [await follow(world, token, command), await follow(world, token, command)];
  const first = await early[0]!.next();
  deq([first!.event, first!.id, first!.data], ["status", null, {
    command_id: command.id,
    agent_id: agent.id,
    status: "running",
    approval_id: null,
  }]);
  command.write("stdout", "one\n");
  command.write("stderr", "careful\n");
  const [one, careful] = await readBytes(world, early[0]!, 12);
  deq([one!.id, one!.data], ["4", { stream: "stdout", offset: 0, data: "one\n" }]);
  deq([careful!.id, careful!.data], ["12", { stream: "stderr", offset: 4, data: "careful\n" }]);
  command.write("stdout", "two\n");
  const late = await follow(world, token, command);
  await readBytes(world, late, 16);
  command.finish({ stdout: "three\n", exit_code: 7 });
  const whole = "<stdout>one\n<stderr>careful\n<stdout>two\nthree\n";
  const rest = [
    await readAll(world, early[0]!),
    await readAll(world, early[1]!),
    await readAll(world, late),
  ];
  eq(transcript(rest[0]!), "<stdout>two\nthree\n");
  eq(transcript(rest[1]!), whole);
  eq(transcript(rest[2]!), "<stdout>three\n");
  const after = await readAll(world, await follow(world, token, command));
  eq(transcript(after), whole);
  const { body: { finished_at } } = await world.call("GET", command.path, { as: token });
  for (const messages of [...rest, after]) {
    const { event, id, data } = messages.at(-1)!;
    deq([event, id, data], ["result", "22", {
      command_id: command.id,
      status: "failed",
      exit_code: 7,
      signal: null,
      truncated: false,
      reason: null,
      duration_ms: 3,
      finished_at,
      next_offset: 22,
    }]);
  }
  eq(world.app.streams.size, 0);
});

Deno.test("commands.output: a reader cut at random loses and repeats nothing, before and after the end", async () => {
  const seed = Number(Deno.env.get("RELAY_OUTPUT_SEED") ?? Math.floor(Math.random() * 1e6));
  console.log(`output seed ${seed}`);
  const dice = random(seed);
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  let written = "", last = "", seen = "", seenLast = "", position = 0, bytes = 0;
  const write = (stream: "stdout" | "stderr", data: string) => {
    command.write(stream, data);
    if (data !== "" && stream !== last) written += `<${last = stream}>`;
    written += data;
    bytes += new TextEncoder().encode(data).length;
  };
  for (let cut = 0; cut < 20; cut++) {
    const client = await follow(
      world,
      token,
      command,
      dice.chance(0.5) ? { from: position } : { after: `${position}` },
    );
    for (let n = dice.below(6); n >= 0; n--) {
      write(dice.pick(["stdout", "stderr"]), "aé€😀\n".repeat(dice.below(40)));
    }
    const wanted = dice.below(bytes - position + 1);
    for (const { id, data } of await readBytes(world, client, wanted)) {
      eq(data.offset, position);
      if (data.stream !== seenLast) seen += `<${seenLast = data.stream}>`;
      seen += data.data;
      position = Number(id);
    }
    await client.cut();
    if (cut === 14) command.finish();
    if (cut >= 14) break;
  }
  for (let cut = 15; cut < 20; cut++) {
    const { body } = await world.call(
      "GET",
      `${command.path}/output?from=${position}&max_bytes=${1 + dice.below(600)}`,
      { as: token },
    );
    for (const { stream, offset, data } of body.chunks) {
      eq(offset, position);
      if (stream !== seenLast) seen += `<${seenLast = stream}>`;
      seen += data;
      position += new TextEncoder().encode(data).length;
    }
    eq(body.next_offset, position);
  }
  const rest = transcript(
    await readAll(world, await follow(world, token, command, { from: position })),
  );
  const tail = rest.startsWith(`<${seenLast}>`) ? rest.slice(seenLast.length + 2) : rest;
  eq(seen + tail, written);
});

Deno.test("commands.output: an offset within a character counts as its first byte, live and recorded", async () => {
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  command.write("stdout", "aé");
  command.write("stderr", "€");
  command.write("stdout", "😀b");
  const starts = [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11];
  const texts = ["aé€😀b", "é€😀b", "€😀b", "😀b", "b", ""];
  const offsets = [...new Set(starts)];
  for (const ended of [false, true]) {
    if (ended) command.finish();
    await world.settle();
    for (const [from, start] of starts.entries()) {
      const path = `${command.path}/output?from=${from}`;
      const { body } = await world.call("GET", path, { as: token });
      const text = body.chunks.map(({ data }: { data: string }) => data).join("");
      eq(text, texts[offsets.indexOf(start)], `from ${from}`);
      eq(body.chunks[0]?.offset ?? 11, start);
      deq([body.next_offset, body.complete], [11, ended]);
      const { body: least } = await world.call("GET", `${path}&max_bytes=1`, { as: token });
      eq(least.chunks.length, from === 11 ? 0 : 1);
      eq(least.next_offset, offsets[offsets.indexOf(start) + 1] ?? 11);
    }
  }
});

Deno.test("commands.output: half a surrogate pair in a frame shifts no offset", async () => {
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  command.write("stdout", "a\ud83d");
  command.write("stdout", "\ude00b");
  const path = `${command.path}/output`;
  const { body: live } = await world.call("GET", path, { as: token });
  command.finish();
  await world.settle();
  const { body: recorded } = await world.call("GET", path, { as: token });
  deq(recorded.chunks, live.chunks);
  deq([live.next_offset, recorded.next_offset], [8, 8]);
});

Deno.test("commands.output: a lost command ends its readers, and a late result continues at the same offset", async () => {
  await using world = await World.open();
  const { owner: { token }, agent, key } = await linkAgent(world);
  const command = await play(world, token, agent);
  const client = await follow(world, token, command);
  command.write("stderr", "before\n");
  await readBytes(world, client, 7);
  agent.drop();
  const last = (await readAll(world, client)).at(-1)!;
  deq([last.event, last.id, last.data.status], ["result", "7", "lost"]);
  const again = await ScriptedAgent.connect(world, key.value, { identity: agent.identity });
  again.finish({ command_id: command.id, stdout: "after\n", truncated: true });
  await world.settle();
  const rest = await readAll(world, await follow(world, token, command, { from: 7 }));
  eq(transcript(rest), "<stdout>after\n");
  deq([rest.at(-1)!.data.status, rest.at(-1)!.data.truncated], ["succeeded", true]);
  const whole = await readAll(world, await follow(world, token, command));
  eq(transcript(whole), "<stderr>before\n<stdout>after\n");
});

Deno.test("commands.output: output that comes while the end is being recorded reaches no reader", async () => {
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent, 10);
  const client = await follow(world, token, command);
  command.write("stdout", "in time\n");
  await readBytes(world, client, 8);
  await world.advance(14_000);
  // The relay ends the command, and the commit of that is under way.
  world.clock.advance(2_000);
  command.write("stdout", "late\n");
  command.finish({ stdout: "later\n" });
  const rest = await readAll(world, client);
  deq([transcript(rest), rest.at(-1)!.data.status], ["", "timed_out"]);
  const recorded = await readAll(world, await follow(world, token, command));
  eq(transcript(recorded), "<stdout>in time\n");
});

Deno.test("commands.output: another organization's command is not found, and nothing is opened", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const other = await world.signUp();
  const own = await ScriptedAgent.connect(world, (await world.key(other, ["agents:admin"])).value);
  const command = await play(world, owner.token, agent);
  const paths = [
    `${command.path}/output`,
    `/api/v1/agents/${own.id}/commands/${command.id}/output`,
  ];
  for (const path of paths) {
    for (const accept of ["application/json", "text/event-stream"]) {
      const { status } = await world.call("GET", path, { as: other.token, headers: { accept } });
      eq(status, 404);
    }
  }
  eq(world.app.streams.size, 0);
});

Deno.test("commands.output: a reader whose rights end is cut within a second", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const command = await play(world, owner.token, agent);
  const [narrowed, revoked] = [
    await world.key(owner, ["agents:read", "approvals:read"]),
    await world.key(owner, ["agents:read"]),
  ];
  const clients = [
    await follow(world, narrowed.value, command),
    await follow(world, revoked.value, command),
  ];
  for (const client of clients) await client.next();
  const as = owner.token;
  const body = { scopes: ["approvals:read"] };
  await world.call("PATCH", `/api/v1/api-keys/${narrowed.id}`, { as, body });
  await world.call("POST", `/api/v1/api-keys/${revoked.id}/revoke`, { as });
  await world.advance(1_000);
  command.write("stdout", "secret\n");
  const ends = await Promise.all(clients.map((client) => readAll(world, client)));
  deq(ends.map((all) => all.map(({ data }) => data.name)), [["rights_lost"], [
    "credential_ended",
  ]]);
  eq(world.app.streams.size, 0);
});

Deno.test("commands.output: a slow reader is cut with 4408, holds little memory, and resumes by its offset", async () => {
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  const slow = await follow(world, token, command);
  const quick = await follow(world, token, command);
  const text = "0123456789abcdef".repeat(1024);
  for (let n = 0; n < 48; n++) command.write(n % 3 === 0 ? "stderr" : "stdout", text);
  await readBytes(world, quick, 48 * text.length);
  await world.advance(45_000);
  const got = await readAll(world, slow);
  const end = got.at(-1)!;
  deq([end.event, end.data.code, end.data.name, end.data.then], [
    "end",
    4408,
    "too_slow",
    "resume",
  ]);
  ok(got.length < 48, "what waited was given up");
  const after = got.findLast(({ id }) => id !== null)?.id ?? "0";
  command.finish();
  const rest = await readAll(world, await follow(world, token, command, { after }));
  const read = [...got, ...rest].filter(({ event }) => event === "output");
  eq(read.reduce((sum, { data }) => sum + data.data.length, 0), 48 * text.length);
  await quick.cut();
});

Deno.test("commands.output: at most 1 MiB is kept, live and recorded alike", async () => {
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  const client = await follow(world, token, command);
  const text = "x".repeat(16 * 1024 - 1);
  for (let n = 0; n < 70; n++) command.write(n % 2 === 0 ? "stdout" : "stderr", text);
  const kept = Math.floor(MIB / text.length) * text.length;
  const live = await readBytes(world, client, kept);
  const { body } = await world.call("GET", command.path, { as: token });
  deq([body.status, body.truncated, body.stdout.length + body.stderr.length], [
    "running",
    true,
    kept,
  ]);
  command.finish();
  const last = (await readAll(world, client)).at(-1)!;
  deq([last.data.truncated, last.data.next_offset], [true, kept]);
  const recorded = await readAll(world, await follow(world, token, command));
  eq(transcript(recorded), transcript(live));
});

Deno.test("commands.get: shows the output so far of a running command", async () => {
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  command.write("stdout", "one\n");
  command.write("stderr", "two\n");
  command.write("stdout", "three\n");
  const { body } = await world.call("GET", command.path, { as: token });
  deq([body.status, body.stdout, body.stderr, body.truncated], [
    "running",
    "one\nthree\n",
    "two\n",
    false,
  ]);
  command.finish();
});

Deno.test("commands.output: a command that waits for approval is followed into its run", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const { token: as } = owner;
  agent.script = () => "silent";
  const held = await world.call("GET", `/api/exec/${agent.id}?command=systemctl+stop+nginx`, {
    as,
  });
  const { command_id, approval_id } = held.body;
  const path = `/api/v1/agents/${agent.id}/commands/${command_id}`;
  const client = await follow(world, as, { path });
  const first = await client.next();
  deq([first!.data.status, first!.data.approval_id], ["pending_approval", approval_id]);
  const approver = await world.join(owner, ["owner"]);
  const approved = await world.call("POST", `/api/shield/approve/${approval_id}`, {
    as: approver.token,
    body: {},
  });
  eq(approved.status, 200);
  await agent.until("run");
  agent.send({ type: "output", command_id, stream: "stdout", data: "stopped\n" });
  await readBytes(world, client, 8);
  agent.finish({ command_id });
  eq((await readAll(world, client)).at(-1)!.data.status, "succeeded");
});

Deno.test("commands.output: a malformed position is refused with what is right", async () => {
  await using world = await World.open();
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  for (const accept of ["application/json", "text/event-stream"]) {
    const headers = { accept, "last-event-id": "e_1:7" };
    const { status, body } = await world.call("GET", `${command.path}/output`, {
      as: token,
      headers,
    });
    deq([status, body.error.details.issues[0].path], [400, "headers.last-event-id"]);
  }
  const { status } = await world.call("GET", `${command.path}/output`, {
    as: token,
    headers: { accept: "text/html" },
  });
  eq(status, 406);
  eq(world.app.streams.size, 0);
  command.finish();
});
