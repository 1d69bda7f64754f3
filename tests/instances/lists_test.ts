import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { pack, packedText } from "../../core/agents/commands/finished.ts";
import { type CommandRecord, commands, leastCommandId } from "../../kv/records/command.ts";
import { HARMLESS } from "../../core/shield/shield.ts";
import { overKv } from "../support/kv.ts";
import { exec, finish, linkAgent } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";
import { countedKv } from "./counted_kv.ts";
import { pair } from "./pair.ts";

const HELD = "rm /tmp/../etc/hosts";

interface Listed {
  readonly command_id: string;
  readonly command: string;
  readonly status: string;
}

async function list(world: World, token: string, query = ""): Promise<Listed[]> {
  const { status, body } = await world.call("GET", `/api/v1/commands${query}`, { as: token });
  eq(status, 200);
  return body.commands;
}

const states = (all: readonly Listed[]) => all.map(({ command, status }) => [command, status]);

Deno.test("commands.list: every instance lists commands that are queued, held, running or ended anywhere", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  const path = `/api/v1/agents/${agent.id}/commands`;
  const start = (world: World, command: string) =>
    world.call("POST", path, { as: owner.token, body: { command } });
  await exec(two, { owner, agent }, "uptime");
  one.clock.advance(1_000);
  await exec(one, { owner, agent }, HELD);
  one.clock.advance(1_000);
  agent.script = () => "silent";
  const here = await start(one, "make here");
  one.clock.advance(1_000);
  await start(two, "make there");
  await one.settle();
  await two.settle();
  one.clock.advance(1_000);
  await one.app.inbox.stop();
  await start(two, "hostname");
  const wanted = [
    ["hostname", "queued"],
    ["make there", "running"],
    ["make here", "running"],
    [HELD, "pending_approval"],
    ["uptime", "succeeded"],
  ];
  for (const world of [one, two]) {
    deq(states(await list(world, owner.token)), wanted);
    deq(states(await list(world, owner.token, `?agent_id=${agent.id}`)), wanted);
    const open = "?status=queued,running,pending_approval";
    deq(states(await list(world, owner.token, open)), wanted.slice(0, 4));
  }
  finish(agent, here.body.command_id);
  await one.settle();
  for (const world of [one, two]) {
    deq(states(await list(world, owner.token, "?status=running")), [["make there", "running"]]);
  }
});

Deno.test("commands.list: a cursor of one instance continues at the other", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  for (let n = 0; n < 5; n++) {
    await exec(n % 2 === 0 ? one : two, { owner, agent }, `echo ${n}`);
    one.clock.advance(10);
  }
  const paged: string[] = [];
  let cursor = "";
  for (const world of [one, two, one]) {
    const path = `/api/v1/commands?limit=2${cursor}`;
    const { body } = await world.call("GET", path, { as: owner.token });
    paged.push(...body.commands.map(({ command }: Listed) => command));
    cursor = `&cursor=${body.cursor}`;
  }
  deq(paged, ["echo 4", "echo 3", "echo 2", "echo 1", "echo 0"]);
});

/** An engine that counts calls, and the entries that its lists and batches return. */
function measured(engine: Deno.Kv) {
  const { kv: counted, calls } = countedKv(engine);
  const seen = { entries: 0 };
  const kv = overKv(counted, {
    getMany: (async (keys: Deno.KvKey[]) => {
      seen.entries += keys.length;
      return await counted.getMany(keys);
    }) as Deno.Kv["getMany"],
    list: (<T>(selector: Deno.KvListSelector, options?: Deno.KvListOptions) => {
      const all = counted.list<T>(selector, options);
      const next = all.next.bind(all);
      all.next = () => (seen.entries++, next());
      return all;
    }) as Deno.Kv["list"],
  });
  return { kv, calls, seen };
}

/** The n-th command, which ended soon after it was made. */
const endedCommand = (n: number, ms: number, agentId: string): CommandRecord => ({
  id: `${leastCommandId(ms)}${String(n).padStart(22, "0")}`,
  agent_id: agentId,
  command: `echo ${n}`,
  timeout_ms: 60_000,
  status: "succeeded",
  actor: "usr_1",
  request_id: "req_1",
  policy_version: "1",
  idempotency: null,
  shield_result: HARMLESS,
  approval_id: null,
  start_before_ms: null,
  exit_code: 0,
  signal: null,
  stdout: "",
  stderr: "",
  output: null,
  truncated: false,
  reason: null,
  duration_ms: 5,
  created_at_ms: ms,
  started_at_ms: ms,
  finished_at_ms: ms + 5,
  expires_at_ms: ms + 30 * 24 * 3_600_000,
});

for (const sole of [true, false]) {
  Deno.test(`commands.list: a page costs the same with 10,000 commands on ${sole ? "an embedded" : "a shared"} store`, async () => {
    const { kv, calls, seen } = measured(await Deno.openKv(":memory:"));
    await using world = await World.open({ kv, sole });
    const here = await linkAgent(world);
    const tenant = { org: here.owner.org, space: "live" } as const;
    const startMs = world.clock.nowMs;
    /** Stores commands as their ends do, 20 ms apart, of ten agents by turns. */
    const store = async (from: number, to: number) => {
      const { store } = world.app;
      for (let at = from; at < to; at += 100) {
        const batch = Array.from({ length: 100 }, (_, n): CommandRecord => {
          const ms = startMs + (at + n) * 20;
          const agentId = (at + n) % 10 === 0 ? here.agent.id : `agt_${(at + n) % 10}`;
          return endedCommand(at + n, ms, agentId);
        });
        if (!sole) {
          await store.transact((tx) => batch.forEach((one) => tx.insert(commands, tenant, one)));
          continue;
        }
        await Promise.all(
          batch.map((one) => store.add((to) => pack(to, tenant, one, packedText(one)!))),
        );
      }
    };
    const queries = [
      "?limit=50",
      `?limit=50&agent_id=${here.agent.id}`,
      "?status=running",
      "?limit=50&end_time=2030-01-01T00:00:05Z",
    ];
    const costs = async () => {
      const all: number[][] = [];
      for (const query of queries) {
        await list(world, here.owner.token, query);
        await world.settle();
        const before = [calls.reads, calls.commits, seen.entries];
        const { length } = await list(world, here.owner.token, query);
        const cost = [calls.reads, calls.commits, seen.entries].map((n, at) => n - before[at]!);
        all.push([length, ...cost]);
        await world.settle();
      }
      return all;
    };
    await store(0, 1_000);
    const few = await costs();
    await store(1_000, 10_000);
    const many = await costs();
    deq(many, few);
    for (const [length, reads, commits, entries] of many) {
      ok(length! <= 50 && reads! <= 10 && commits === 0 && entries! <= 150, `${many}`);
    }
    eq((await list(world, here.owner.token, "?limit=50"))[0]!.command, "echo 9999");
  });
}
