import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../../support/agent.ts";
import {
  AGENT_RIGHTS,
  comeBack,
  exec,
  finish,
  linkAgent,
  type Linked,
  runsOf,
} from "../../support/linked_agent.ts";
import { mulberry32 } from "../../support/random.ts";
import { type Account, World } from "../../support/world.ts";

/** Needs an approval. */
const HELD = "rm /tmp/../etc/hosts";
const DENIED = "rm -rf /";

interface Listed {
  readonly command_id: string;
  readonly command: string;
  readonly status: string;
}

const list = (world: World, { token }: Pick<Account, "token">, query = "") =>
  world.call("GET", `/api/v1/commands${query}`, { as: token });

/** The commands of one page. */
async function shown(world: World, account: Account, query = ""): Promise<Listed[]> {
  const { status, body } = await list(world, account, query);
  eq(status, 200);
  return body.commands;
}

const texts = (all: readonly Listed[]) => all.map(({ command }) => command);

/** Starts a command that runs until the test ends it. */
async function begin(world: World, { owner, agent }: Linked, command: string): Promise<string> {
  agent.script = () => "silent";
  const path = `/api/v1/agents/${agent.id}/commands`;
  const { status, body } = await world.call("POST", path, { as: owner.token, body: { command } });
  eq(status, 202);
  await world.settle();
  return body.command_id;
}

/** Runs one command of each kind, a second apart, oldest first: denied, held, ended, running. */
async function oneOfEach(world: World) {
  const here = await linkAgent(world);
  const ids: string[] = [];
  for (const command of [DENIED, HELD, "uptime"]) {
    const { body } = await exec(world, here, command);
    ids.push(body.command_id ?? body.error.details.command_id);
    await world.advance(1_000);
  }
  ids.push(await begin(world, here, "make"));
  return { ...here, ids };
}

Deno.test("commands.list: shows commands that wait, run or have ended, newest first, without output", async () => {
  await using world = await World.open();
  const here = await oneOfEach(world);
  const { status, body } = await list(world, here.owner);
  eq(status, 200);
  eq(body.cursor, null);
  deq(body.commands.map(({ command_id, status }: Listed) => [command_id, status]), [
    [here.ids[3], "running"],
    [here.ids[2], "succeeded"],
    [here.ids[1], "pending_approval"],
    [here.ids[0], "denied"],
  ]);
  deq(body.commands[1], {
    command_id: here.ids[2],
    agent_id: here.agent.id,
    command: "uptime",
    status: "succeeded",
    actor: here.owner.userId,
    verdict: "allow",
    risk_score: 0,
    approval_id: null,
    exit_code: 0,
    signal: null,
    truncated: false,
    reason: null,
    duration_ms: 3,
    created_at: "2030-01-01T00:00:02.000Z",
    started_at: "2030-01-01T00:00:02.000Z",
    finished_at: "2030-01-01T00:00:02.000Z",
  });
  const ofAgent = await list(world, here.owner, `?agent_id=${here.agent.id}`);
  deq(ofAgent.body, body);
  const path = `/api/v1/agents/${here.agent.id}/commands`;
  deq((await world.call("GET", path, { as: here.owner.token })).body, body);
  finish(here.agent, here.ids[3]!);
  await world.settle();
  eq((await shown(world, here.owner))[0]!.status, "succeeded");
});

Deno.test("commands.list: each filter shows exactly the commands that match", async () => {
  await using world = await World.open();
  const here = await oneOfEach(world);
  const second = await ScriptedAgent.connect(world, here.key.value, {
    name: "two",
    labels: { env: "test" },
  });
  await exec(world, { owner: here.owner, agent: second }, "HOSTNAME", { as: here.key.value });
  const [denied, held, ended, running, other] = [DENIED, HELD, "uptime", "make", "HOSTNAME"];
  const cases: [string, string[]][] = [
    ["status=running", [running]],
    ["status=pending_approval,running", [running, held]],
    ["status=queued", []],
    ["status=succeeded", [other, ended]],
    ["status=denied,running", [running, denied]],
    [`agent_id=${second.id}`, [other]],
    [`agent_id=${second.id}&status=running`, []],
    [`agent_id=${here.agent.id}&status=succeeded`, [ended]],
    ["agent_id=agt_none", []],
    ["label=env=test", [other]],
    ["label=env=production", []],
    [`actor=${here.key.id}`, [other]],
    [`actor=${here.owner.userId}`, [running, ended, held, denied]],
    ["text=hostname", [other]],
    [`command_id=${here.ids[0]}`, [denied]],
    [`command_id=${here.ids[2]}`, [ended]],
    [`command_id=${here.ids[3]}&status=running`, [running]],
    [`command_id=${here.ids[3]}&agent_id=${second.id}`, []],
    ["command_id=cmd_none", []],
    ["text=rm%20", [held, denied]],
    ["verdict=deny", [denied]],
    ["verdict=approve", [held]],
    ["verdict=allow", [other, running, ended]],
    ["start_time=2030-01-01T00:00:01Z", [other, running, ended, held]],
    ["end_time=2030-01-01T00:00:01Z", [held, denied]],
    ["start_time=2030-01-01T00:00:01Z&end_time=2030-01-01T00:00:02Z", [ended, held]],
    ["start_time=2030-01-01T00:00:02Z&end_time=2030-01-01T00:00:01Z", []],
    ["start_time=2030-01-01&end_time=2030-01-01", [other, running, ended, held, denied]],
    ["text=rm&verdict=approve&status=pending_approval", [held]],
  ];
  for (const [query, wanted] of cases) {
    deq(texts(await shown(world, here.owner, `?${query}`)), wanted, query);
  }
});

Deno.test("commands.list: a filter of an unknown form is a 400", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (const query of ["status=done", "verdict=maybe", "label=env", "cursor=Zm9v", "cursor=~"]) {
    const { status, body } = await list(world, owner, `?${query}`);
    deq([status, body.error.code], [400, "VALIDATION_FAILED"], query);
  }
});

Deno.test("commands.list: pages have every command once, in order, while commands are added and end", async () => {
  const seed = crypto.getRandomValues(new Uint16Array(1))[0]!;
  console.log(`lists seed ${seed}`);
  const unit = mulberry32(seed);
  await using world = await World.open({ seed });
  const here = await linkAgent(world);
  const script = here.agent.script;
  const open: string[] = [];
  const add = async () => {
    const dice = unit();
    if (dice < 0.2) open.push(await begin(world, here, "make"));
    here.agent.script = script;
    if (dice >= 0.2) await exec(world, here, dice < 0.3 ? DENIED : dice < 0.4 ? HELD : "uptime");
    await world.advance(Math.floor(unit() * 400));
  };
  for (let n = 0; n < 60; n++) await add();
  const all = (await shown(world, here.owner, "?limit=200")).map(({ command_id }) => command_id);
  deq([all.length, all], [60, all.toSorted().reverse()]);
  const paged: string[] = [];
  let cursor = "";
  do {
    const { body } = await list(world, here.owner, `?limit=7${cursor}`);
    paged.push(...body.commands.map(({ command_id }: Listed) => command_id));
    cursor = body.cursor === null ? "" : `&cursor=${body.cursor}`;
    await add();
    const ending = open.shift();
    if (ending !== undefined) finish(here.agent, ending);
    await world.settle();
  } while (cursor !== "");
  deq(paged, all);
});

Deno.test("commands.list: a page examines at most 1,000 commands and has a cursor", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await exec(world, here, "hostname");
  for (let n = 0; n < 20; n++) {
    await Promise.all(Array.from({ length: 50 }, () => exec(world, here, "uptime")));
    await world.advance(100);
  }
  const first = (await list(world, here.owner, "?text=hostname")).body;
  deq(first.commands, []);
  ok(first.cursor);
  const second = (await list(world, here.owner, `?text=hostname&cursor=${first.cursor}`)).body;
  deq([texts(second.commands), second.cursor], [["hostname"], null]);
});

Deno.test("commands.list: shows nothing of other organizations, of the other space, or without agents:read", async () => {
  await using world = await World.open();
  const here = await oneOfEach(world);
  const stranger = await world.signUp();
  const path = `/api/v1/agents/${here.agent.id}/commands`;
  deq((await list(world, stranger)).body, { commands: [], cursor: null });
  const ofAgent = await list(world, stranger, `?agent_id=${here.agent.id}`);
  deq(ofAgent.body, { commands: [], cursor: null });
  const foreign = await world.call("GET", path, { as: stranger.token });
  deq([foreign.status, foreign.body.error.code], [404, "AGENT_NOT_FOUND"]);
  const test = await world.key(here.owner, AGENT_RIGHTS, { type: "test" });
  deq((await list(world, { token: test.value })).body, { commands: [], cursor: null });
  const writer = await world.key(here.owner, ["agents:write", "system:read"]);
  for (const at of ["/api/v1/commands", path]) {
    const { status, body } = await world.call("GET", at, { as: writer.value });
    deq([status, body.error.code], [403, "INSUFFICIENT_SCOPES"]);
  }
});

Deno.test("commands.list: a deleted agent's commands are listed by its id and in the list of all", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await exec(world, here, "uptime");
  const path = `/api/v1/agents/${here.agent.id}`;
  eq((await world.call("DELETE", path, { as: here.owner.token })).status, 204);
  for (const query of ["", `?agent_id=${here.agent.id}`]) {
    deq(texts(await shown(world, here.owner, query)), ["uptime"]);
  }
  eq((await world.call("GET", `${path}/commands`, { as: here.owner.token })).status, 404);
});

Deno.test("commands.list: a lost command is listed once, in its place", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  here.agent.script = () => "silent";
  const { again } = await comeBack(world, here);
  await world.advance(1_000);
  await exec(world, { owner: here.owner, agent: again }, "uptime");
  for (const query of ["", `?agent_id=${again.id}`, "?status=lost,succeeded"]) {
    const all = await shown(world, here.owner, query);
    deq(all.map(({ command, status }) => [command, status]), [
      ["uptime", "succeeded"],
      ["make", "lost"],
    ]);
  }
});

Deno.test("commands.list: long text is cut and has its digest", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await exec(world, here, `echo ${"a".repeat(3_000)}`);
  const [shownOne] = (await list(world, here.owner)).body.commands;
  deq([shownOne.command.length, shownOne.command_truncated], [2_000, true]);
  eq(shownOne.command_sha256.length, 64);
});

Deno.test("commands.list: commands that expire leave the list", async () => {
  await using world = await World.open();
  const here = await oneOfEach(world);
  finish(here.agent, here.ids[3]!);
  await world.settle();
  world.clock.nowMs += 366 * 24 * 3_600_000;
  const again = await world.call("POST", "/api/v1/login", {
    body: { email: here.owner.email, password: "password 1" },
  });
  deq(await shown(world, { ...here.owner, token: again.body.token }), []);
});

Deno.test("commands.list: a command that ran for minutes is found by its id and in its place", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const id = await begin(world, here, "make");
  await world.advance(50_000);
  here.agent.script = () => ({ stdout: "done\n" });
  await exec(world, here, "uptime");
  finish(here.agent, id, { stdout: "made\n" });
  await world.settle();
  deq(texts(await shown(world, here.owner)), ["uptime", "make"]);
  const path = `/api/v1/agents/${here.agent.id}/commands/${id}`;
  eq((await world.call("GET", path, { as: here.owner.token })).body.stdout, "made\n");
  eq(runsOf(here.agent).length, 2);
});
