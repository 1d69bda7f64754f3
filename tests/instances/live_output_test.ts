import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { findCommand } from "../../core/agents/commands/finished.ts";
import { OutputLog } from "../../core/agents/commands/output_log.ts";
import { play, type Played, readAll, transcript } from "../agents/commands/output_fixtures.ts";
import { happen, hear } from "../delivery/webhooks/hook_fixtures.ts";
import { deliveriesOf, eventsOf } from "../support/linked_agent.ts";
import { ManualClock } from "../support/clock.ts";
import { random } from "../support/random.ts";
import { rawRows } from "../support/raw_rows.ts";
import { type Received, StreamClient } from "../support/stream.ts";
import { World } from "../support/world.ts";
import { pair } from "./pair.ts";

/** A command that runs at the first instance. */
async function playing(options: Parameters<typeof pair>[0] = {}) {
  const cluster = await pair(options);
  const { one, two, owner: { token }, agent } = cluster;
  const command = await play(one, token, agent);
  return {
    ...cluster,
    token,
    command,
    /** Lets time pass for both instances until something is done. */
    async until<T>(done: Promise<T>): Promise<T> {
      const pending = Symbol();
      for (;;) {
        const first = await Promise.race([done, Promise.resolve(pending)]);
        if (first !== pending) return first as T;
        one.clock.advance(25);
        for (const world of [one, two]) await world.settle();
      }
    },
    pieces: () => rawRows(two.kv, { org: "~", space: "out" }),
  };
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** A reader that keeps what it saw, over all of its streams. */
class Seen {
  text = "";
  position = 0;
  #stream = "";

  constructor(
    private readonly token: string,
    private readonly command: Played,
  ) {}

  /** Reads through an instance until it has seen so many bytes, and goes away. */
  async readOn(world: World, until: number): Promise<void> {
    const client = await StreamClient.open(world, this.token, {
      path: `${this.command.path}/output`,
      headers: { "last-event-id": `${this.position}` },
    });
    while (this.position < until) this.#take((await client.next())!);
    await client.cut();
  }

  #take({ event, id, data }: Received): void {
    if (event !== "output") return;
    eq(data.offset, this.position);
    if (data.stream !== this.#stream) this.text += `<${this.#stream = data.stream}>`;
    this.text += data.data;
    this.position = Number(id);
  }
}

Deno.test("instances: a reader cut at random, at either instance, loses and repeats no output", async () => {
  const seed = Number(Deno.env.get("RELAY_OUTPUT_SEED") ?? Math.floor(Math.random() * 1e6));
  console.log(`output seed ${seed}`);
  const dice = random(seed);
  await using cluster = await playing();
  const { one, two, command, token, until } = cluster;
  const [seen, other] = [new Seen(token, command), new Seen(token, command)];
  let bytes = 0, written = "", last = "";
  for (let cut = 0; cut < 20; cut++) {
    const target = bytes === 0 ? 0 : seen.position + dice.below(bytes - seen.position + 1);
    const reading = seen.readOn(dice.chance(0.3) ? one : two, target);
    for (let n = dice.below(5); n >= 0; n--) {
      const stream = dice.pick(["stdout", "stderr"] as const);
      const data = `${cut} é😀\n`.repeat(1 + dice.below(60));
      command.write(stream, data);
      if (stream !== last) written += `<${last = stream}>`;
      written += data;
      bytes += bytesOf(data);
    }
    await until(reading);
  }
  await until(Promise.all([seen.readOn(two, bytes), other.readOn(two, bytes)]));
  command.finish();
  for (const world of [one, two]) await world.settle();
  for (const world of [one, two]) {
    const late = await StreamClient.open(world, token, { path: `${command.path}/output` });
    eq(transcript(await readAll(world, late)), written);
  }
  deq([seen.text, other.text], [written, written]);
});

Deno.test("instances: a reader at another instance gets the end with what came before it", async () => {
  await using cluster = await playing();
  const { two, command, token, until } = cluster;
  command.write("stdout", "one\n");
  const path = `${command.path}/output`;
  const clients = [
    await StreamClient.open(two, token, { path }),
    await StreamClient.open(two, token, { path, query: "?from=4" }),
  ];
  const all = Promise.all(clients.map((client) => readAll(two, client)));
  command.write("stderr", "two\n");
  command.finish({ stdout: "three\n", exit_code: 3 });
  const [whole, rest] = await until(all);
  eq(transcript(whole!), "<stdout>one\n<stderr>two\n<stdout>three\n");
  eq(transcript(rest!), "<stderr>two\n<stdout>three\n");
  for (const { event, data } of [whole!.at(-1)!, rest!.at(-1)!]) {
    deq([event, data.status, data.exit_code, data.next_offset], ["result", "failed", 3, 14]);
  }
  eq(two.app.streams.size, 0);
});

Deno.test("instances: the output so far is read at another instance, which sends nothing more", async () => {
  await using cluster = await playing();
  const { one, two, command, token, until, pieces } = cluster;
  command.write("stdout", "é\n");
  for (let n = 0; n < 4; n++) command.write("stderr", "x".repeat(10_000));
  const { body } = await until(two.call("GET", command.path, { as: token }));
  deq([body.status, body.stdout, body.stderr.length, body.truncated], [
    "running",
    "é\n",
    40_000,
    false,
  ]);
  const range = await until(two.call("GET", `${command.path}/output?from=3&max_bytes=5`, {
    as: token,
  }));
  deq([range.body.chunks, range.body.next_offset, range.body.complete], [
    [{ stream: "stderr", offset: 3, data: "xxxxx" }],
    8,
    false,
  ]);
  const before = (await pieces()).length;
  command.write("stdout", "more\n");
  one.clock.advance(1_000);
  for (const world of [one, two]) await world.settle();
  eq((await pieces()).length, before);
  command.finish();
});

Deno.test("instances: a command whose instance does not answer is shown, and says that its output is not known", async () => {
  await using cluster = await playing();
  const { one, two, command, token, until } = cluster;
  command.write("stdout", "one\n");
  // The first instance sends nothing.
  const { background } = one.app;
  const { run } = background;
  background.run = () => Promise.resolve();
  const { body } = await until(two.call("GET", command.path, { as: token }));
  deq([body.status, body.stdout, body.output_unavailable], ["running", "", true]);
  background.run = run;
  const { body: here } = await one.call("GET", command.path, { as: token });
  deq([here.stdout, "output_unavailable" in here], ["one\n", false]);
  command.finish();
});

Deno.test("instances: the instance of the link answers at once about a command that begins or has ended there", async () => {
  await using cluster = await pair();
  const { one, owner: { token, org }, agent } = cluster;
  const tenant = { org, space: "live" } as const;
  const { commands, liveOutput, store } = one.app;
  const begin = commands.begin.bind(commands);
  let soFarAtBegin: unknown;
  commands.begin = async (tenant, record, link, trace) => {
    const begun = await begin(tenant, record, link, trace);
    soFarAtBegin = await liveOutput.soFar(tenant, { ...record, status: "running" });
    return begun;
  };
  const command = await play(one, token, agent);
  deq(soFarAtBegin, { log: new OutputLog(), truncated: false });
  const running = commands.running(tenant, command.id)!;
  command.finish();
  await one.settle();
  eq((await liveOutput.soFar(tenant, running))?.ended, true);
  eq((await findCommand(store, store, tenant, command.id))?.status, "succeeded");
});

Deno.test("instances: nothing is sent to a reader that left, 15 s after it last asked", async () => {
  await using cluster = await playing();
  const { one, two, command, token, until, pieces } = cluster;
  const client = await StreamClient.open(two, token, { path: `${command.path}/output` });
  command.write("stdout", "one\n");
  await until(client.next().then(() => client.next()));
  await client.cut();
  for (let n = 0; n < 4; n++) {
    one.clock.advance(5_000);
    for (const world of [one, two]) await world.settle();
  }
  const before = (await pieces()).length;
  command.write("stdout", "two\n");
  one.clock.advance(1_000);
  for (const world of [one, two]) await world.settle();
  eq((await pieces()).length, before);
  command.finish();
});

Deno.test("instances: a reader learns that a command was lost with its agent's link", async () => {
  await using cluster = await playing();
  const { two, command, token, agent, until } = cluster;
  command.write("stdout", "one\n");
  const client = await StreamClient.open(two, token, { path: `${command.path}/output` });
  await until(client.next().then(() => client.next()));
  agent.drop();
  const rest = await until(readAll(two, client));
  deq(rest.map(({ event, data }) => [event, data.status, data.next_offset]), [
    ["result", "lost", 4],
  ]);
});

Deno.test("instances: a reader learns that a command was lost with the instance that ran it", async () => {
  await using cluster = await playing({ clock: new ManualClock() });
  const { one, two, command, token } = cluster;
  const client = await StreamClient.open(two, token, { path: `${command.path}/output` });
  await client.next();
  for (const world of [two, one, two]) await world.settle();
  command.write("stdout", "one\n");
  for (const world of [one, two]) await world.settle();
  eq((await client.next())!.data.data, "one\n");
  // The first instance's clock stands still.
  for (let n = 0; n < 4; n++) await two.advance(5_000);
  const rest = (await readAll(two, client)).filter(({ event }) => event !== "heartbeat");
  deq(rest.map(({ event, data }) => [event, data.status, data.next_offset]), [
    ["result", "lost", 0],
  ]);
});

Deno.test("instances: a started command is announced to the streams of every instance that has some", async () => {
  await using cluster = await pair();
  const { one, two, owner: { token }, agent } = cluster;
  const other = await one.signUp();
  const clients = [
    await StreamClient.open(one, token, { query: "?types=command_started" }),
    await StreamClient.open(two, token, { query: "?types=command_started" }),
    await StreamClient.open(two, token, { query: "?types=command_executed" }),
    await StreamClient.open(two, other.token),
  ];
  for (const client of clients) await client.next();
  one.clock.advance(5_000);
  for (const world of [two, one]) await world.settle();
  const command = await play(one, token, agent);
  one.clock.advance(25);
  for (const world of [one, two]) await world.settle();
  const { body } = await one.call("GET", command.path, { as: token });
  for (const client of clients.slice(0, 2)) {
    const { event, id, data } = (await client.next())!;
    deq([event, id, data], ["command_started", null, {
      command_id: command.id,
      agent_id: agent.id,
      user: cluster.owner.userId,
      started_at: body.started_at,
    }]);
  }
  command.finish();
  for (const world of [one, two]) await world.settle();
  one.app.streams.stop();
  two.app.streams.stop();
  const typesOf = async (client: StreamClient) =>
    (await readAll(two, client)).map(({ event, data }) => data.event_type ?? event)
      .filter((type) => type !== "heartbeat");
  deq(await typesOf(clients[2]!), ["command_executed", "end"]);
  deq(await typesOf(clients[3]!), ["end"]);
});

Deno.test("instances: attempts of deliveries are announced at every instance, together, without a row", async () => {
  await using cluster = await pair();
  const { one, two, owner } = cluster;
  const hook = await hear(one, owner);
  const clients = await Promise.all(
    [one, two].map((world) => StreamClient.open(world, owner.token, { query: "?types=changed" })),
  );
  const quiet = await StreamClient.open(two, owner.token, { query: "?types=agent_disconnected" });
  const stranger = await StreamClient.open(two, (await one.signUp()).token, {
    query: "?types=changed",
  });
  one.clock.advance(5_000);
  for (const world of [two, one]) await world.settle();
  const logged = (await eventsOf(one, owner, hook.id)).length;
  for (let n = 0; n < 3; n++) {
    await happen(one, owner);
    for (const world of [one, two]) await world.settle();
  }
  const { deliveries } = await deliveriesOf(one, owner, hook.id);
  deq(deliveries.map(({ status }: { status: string }) => status), Array(3).fill("succeeded"));
  eq((await eventsOf(one, owner, hook.id)).length, logged);
  for (let n = 0; n < 8; n++) {
    one.clock.advance(100);
    for (const world of [one, two]) await world.settle();
  }
  for (const world of [one, two]) world.app.streams.stop();
  const named = async (client: StreamClient) =>
    (await readAll(two, client)).filter(({ event, data }) =>
      event === "changed" && data.resource_type === "webhook"
    ).map(({ data }) => data.resource_id);
  for (const client of clients) deq(await named(client), [hook.id]);
  for (const client of [quiet, stranger]) deq(await named(client), []);
});

Deno.test("instances: a change at one instance is announced at every instance within a second", async () => {
  await using cluster = await pair();
  const { one, two, owner: { token, org }, agent } = cluster;
  await using three = await World.open({ kv: two.kv, sole: false, clock: one.clock, seed: 3 });
  const worlds = [one, two, three];
  const settle = async () => {
    for (const world of worlds) await world.settle();
  };
  const query = "?types=changed";
  const clients = await Promise.all(
    worlds.map((world) => StreamClient.open(world, token, { query })),
  );
  one.clock.advance(5_000);
  await settle();
  const command = await play(one, token, agent);
  const body = { name: "reader", scopes: ["agents:read"] };
  const made = await two.call("POST", "/api/v1/api-keys", { as: token, body });
  for (let ms = 0; ms < 900; ms += 50) {
    one.clock.advance(50);
    await settle();
  }
  for (const world of worlds) world.app.streams.stop();
  for (const client of clients) {
    const changes = (await readAll(one, client)).filter(({ event }) => event === "changed")
      .map(({ data }) => `${data.resource_type} ${data.resource_id}`);
    eq(changes[0], "null null");
    deq(changes.slice(1).toSorted(), [
      `api_key ${made.body.id}`,
      `audit_log ${org}/live`,
      `command ${command.id}`,
    ]);
  }
  command.finish();
  await settle();
});
