import assert from "node:assert/strict";
import { machineHost } from "../../core/cli/agent/host.ts";
import type { AgentHost } from "../../core/cli/agent/interfaces.ts";
import { runAgent } from "../../core/cli/agent/agent.ts";
import { openRefusals } from "../../core/cli/agent/commands/refusals.ts";
import { openVerdicts, type Verdicts } from "../../core/cli/agent/link/verdicts.ts";
import { type CommandOrder, parseRelayFrame, type RunFrame } from "../../core/protocol/protocol.ts";
import {
  privateKeyOf,
  rawPublicKey,
  signText,
  verdictText,
  welcomeText,
} from "../../core/protocol/statements.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { AGENT_RIGHTS, eventsOf, exec } from "../support/linked_agent.ts";
import { mulberry32 } from "../support/random.ts";
import { type Account, World } from "../support/world.ts";
import { openHandClock, openMemoryFiles, runOf, withLinkedAgent } from "./agent_support.ts";

const KEY = privateKeyOf(new Uint8Array(32).fill(3));
const LINK = { agentId: "agt_1", nonce: "n".repeat(24) };
/** The relay's clock, which has nothing to do with the agent's. */
const RELAY_MS = 4_000_000_000_000;

function welcome() {
  const { agentId: agent_id, nonce } = LINK;
  return {
    type: "welcome",
    agent_id,
    name: "box",
    heartbeat_seconds: 30,
    relay_version: "1",
    time_ms: RELAY_MS,
    verdict_key: rawPublicKey(KEY),
    signature: signText(KEY, welcomeText({ agent_id, time_ms: RELAY_MS }, nonce)),
  } as const;
}

function opened(clock = openHandClock()): Verdicts {
  return openVerdicts(welcome(), LINK.nonce, clock) ?? assert.fail("the welcome is right");
}

function signed(commands: CommandOrder[], batch = 1, link = LINK): RunFrame {
  const frame = { type: "run" as const, batch, expires_at_ms: RELAY_MS + 60_000, commands };
  return { ...frame, signature: signText(KEY, verdictText(link, frame)) };
}

Deno.test("openVerdicts: accepts a welcome only with a proof of its key for this link and time", () => {
  const clock = openHandClock();
  const right = welcome();
  assert.notEqual(openVerdicts(right, LINK.nonce, clock), null);
  for (
    const wrong of [
      { time_ms: RELAY_MS + 1 },
      { agent_id: "agt_2" },
      { signature: "" },
      { verdict_key: "A".repeat(43) },
      { verdict_key: rawPublicKey(privateKeyOf(new Uint8Array(32).fill(4))) },
    ]
  ) {
    assert.equal(openVerdicts({ ...right, ...wrong }, LINK.nonce, clock), null);
  }
  assert.equal(openVerdicts(right, "m".repeat(24), clock), null);
});

Deno.test("openVerdicts: a batch passes once, in its order and in its time, on the relay's clock", () => {
  const clock = openHandClock();
  const verdicts = opened(clock);
  const orders = [runOf("c", "true")];
  assert.equal(verdicts.refuse(signed(orders, 2)), null);
  assert.equal(verdicts.refuse(signed(orders, 2)), "its verdict was used before");
  assert.equal(verdicts.refuse(signed(orders, 1)), "its verdict was used before");
  clock.move(59_999);
  assert.equal(verdicts.refuse(signed(orders, 3)), null);
  clock.move(1);
  assert.equal(verdicts.refuse(signed(orders, 4)), "its verdict has expired");
});

Deno.test("openVerdicts: refuses verdicts of another agent, link or key, and recombined batches", () => {
  const [a, b] = [runOf("a", "echo a"), runOf("b", "echo b")];
  const both = signed([a, b]);
  const other = privateKeyOf(new Uint8Array(32).fill(4));
  const wrong: RunFrame[] = [
    signed([a, b], 1, { ...LINK, agentId: "agt_2" }),
    signed([a, b], 1, { ...LINK, nonce: "m".repeat(24) }),
    { ...both, signature: signText(other, verdictText(LINK, both)) },
    { ...both, signature: signed([a]).signature },
    { ...both, commands: [a] },
    { ...both, commands: [b, a] },
    { ...both, commands: [a, b, b] },
    { ...both, commands: [{ ...a, command: b.command }, { ...b, command: a.command }] },
    { ...both, commands: [a, { ...b, command_id: "c" }] },
    { ...both, batch: 2 },
    { ...both, signature: `${both.signature}=` },
    { ...both, signature: "" },
  ];
  for (const frame of wrong) {
    const verdicts = opened();
    assert.match(verdicts.refuse(frame) ?? "", /^its verdict is not|^it has no verdict/);
    assert.equal(verdicts.refuse(both), null, "a refused batch uses nothing up");
  }
});

Deno.test("openVerdicts: refuses every frame with a flipped bit", () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  console.log(`seed ${seed}`);
  const unit = mulberry32(seed);
  const below = (n: number) => Math.floor(unit() * n);
  const words = ["echo", "é", "\n", '"', "\\", "\u0001", "😀", "100000", "rm -rf x", " ", "'"];
  let refused = 0;
  for (let round = 0; round < 40_000; round++) {
    const commands = Array.from(
      { length: 1 + below(3) },
      (_, n) =>
        runOf(
          `cmd_${n}`,
          Array.from({ length: 1 + below(5) }, () => words[below(words.length)]).join(""),
        ),
    );
    const frame = signed(commands, 1 + below(1_000));
    const bytes = new TextEncoder().encode(JSON.stringify(frame));
    for (let flips = 1 + below(3), at = below(bytes.length); flips > 0; flips--) {
      bytes[at]! ^= 1 << below(8);
      at = below(bytes.length);
    }
    const got = parseRelayFrame(new TextDecoder().decode(bytes));
    if (got === null || got === "unknown" || got.type !== "run") continue;
    const same = JSON.stringify(got) === JSON.stringify(frame);
    const why = opened().refuse(got);
    assert.equal(why === null, same, `seed ${seed}, round ${round}: ${JSON.stringify(got)}`);
    if (!same) refused++;
  }
  assert.ok(refused > 5_000, `${refused} altered frames were looked at`);
});

Deno.test("openRefusals: keeps the last refusals in a file, also when the disk was full before", () => {
  const { files, texts } = openMemoryFiles();
  const lines: string[] = [];
  const write = (message: string) => void lines.push(message);
  const log = { info: write, warn: write, error: write };
  let full = true;
  const disk = {
    ...files,
    write(path: string, text: string) {
      if (full) throw new Error("no space left");
      files.write(path, text);
    },
  };
  const refusals = openRefusals("s", { files: disk, clock: openHandClock(), log });
  refusals.add([runOf("c", "true"), runOf("d", "true")], "why not");
  assert.match(lines[0]!, /^refused c, d: why not$/);
  assert.match(lines[1]!, /no space left/);
  full = false;
  for (let n = 0; n < 3_500; n++) refusals.add([runOf(`c${n}`, "true")], "why not");
  const kept = (texts.get("s/refused.log") ?? "").split("\n").slice(0, -1);
  assert.ok(kept.length <= 2_000);
  assert.deepEqual(JSON.parse(kept.at(-1)!), {
    at: "2023-11-14T22:13:20.000Z",
    command_id: "c3499",
    command_sha256: "b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b",
    reason: "why not",
  });
});

Deno.test("runAgent: does not start commands without a valid verdict, and continues on a new link", () =>
  withLinkedAgent(async ({ relay, link, agent, stateDir }) => {
    const touch = (id: string) => runOf(id, `touch ${stateDir}/${id}`);
    const frame = link.signed([touch("cmd_1"), touch("cmd_2")]);
    const [first, second] = frame.commands;
    link.send({ ...frame, commands: [first!, { ...second!, command: `touch ${stateDir}/cmd_3` }] });
    link.run(touch("cmd_4"));
    for (const command_id of ["cmd_1", "cmd_2"]) {
      const { message: _, ...refused } = await link.next() as { message: string };
      assert.deepEqual(refused, { type: "refused", command_id, reason: "unverified" });
    }
    assert.equal((await link.closed).code, 4424);
    const again = await relay.nextLink();
    again.send(again.signed([touch("cmd_5")], -10_000));
    let late = await again.next();
    while (late.type === "heartbeat") late = await again.next();
    assert.equal(late.type === "refused" && late.message, "its verdict has expired");
    const third = await relay.nextLink();
    third.run(touch("cmd_6"));
    await third.untilResult("cmd_6");
    const made = [...Deno.readDirSync(stateDir)].map(({ name }) => name);
    assert.deepEqual(made.filter((name) => name.startsWith("cmd_")), ["cmd_6"]);
    const journal = Deno.readTextFileSync(`${stateDir}/refused.log`).trim().split("\n");
    assert.deepEqual(journal.map((line) => JSON.parse(line).command_id), [
      "cmd_1",
      "cmd_2",
      "cmd_5",
    ]);
    assert.ok(agent.lines.some((line) => line.startsWith("refused cmd_1, cmd_2: its verdict is")));
  }));

/** A relay and an agent on a real link, over which `alter` may change what the relay sends. */
interface Joined {
  readonly world: World;
  readonly owner: Account;
  readonly agent: { readonly id: string };
  readonly stateDir: string;
  /** The link after this one. */
  nextLink(): Promise<void>;
}

async function withRelay(
  alter: (text: string) => string,
  test: (joined: Joined) => Promise<void>,
): Promise<void> {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  await using world = await World.open();
  const owner = await world.signUp();
  const { value: token } = await world.key(owner, AGENT_RIGHTS);
  const serve = mount(world.app, routes, upgrades);
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, serve);
  let connected = Promise.withResolvers<void>();
  const write = (line: string) => {
    if (line.startsWith("connected")) connected.resolve();
  };
  const host: AgentHost = {
    ...machineHost,
    log: { info: write, warn: write, error: write },
    dial: (url, credential, events) =>
      machineHost.dial(url, credential, {
        ...events,
        message: (text) => events.message(text && alter(text)),
      }),
  };
  const controller = new AbortController();
  const url = `http://127.0.0.1:${server.addr.port}`;
  const ended = runAgent({ url, token, stateDir, name: "box", signal: controller.signal }, host);
  try {
    await connected.promise;
    connected = Promise.withResolvers();
    const { agents } = (await world.call("GET", "/api/agents", { as: owner.token })).body;
    const agent = { id: agents[0].id };
    await test({ world, owner, agent, stateDir, nextLink: () => connected.promise });
  } finally {
    controller.abort();
    await ended;
    await Deno.remove(stateDir, { recursive: true });
  }
}

Deno.test("relay and agent: a flipped byte runs nothing, and both sides record it", async () => {
  let flips = 1;
  const flip = (text: string) =>
    text.includes("echo safe") && flips-- > 0 ? text.replace("safe", "sage") : text;
  await withRelay(flip, async ({ world, owner, agent: { id }, stateDir, nextLink }) => {
    const agent = { id } as never;
    const { status, body } = await exec(world, { owner, agent }, "echo safe");
    assert.equal(status, 503);
    const { command_id } = body.error.details;
    const events = await eventsOf(world, owner, command_id);
    assert.deepEqual(events.map(({ event_type }) => event_type), [
      "command_failed",
      "verdict_refused",
    ]);
    const own = JSON.parse(Deno.readTextFileSync(`${stateDir}/refused.log`));
    assert.equal(own.command_id, command_id);
    assert.equal(events[1]!.details.reason, `the agent refused it (unverified): ${own.reason}`);
    assert.throws(() => Deno.statSync(`${stateDir}/started.log`), Deno.errors.NotFound);
    await nextLink();
    const good = await exec(world, { owner, agent }, "echo safe; echo oops >&2; exit 3");
    assert.deepEqual([good.body.stdout, good.body.stderr, good.body.exit_code], [
      "safe\n",
      "oops\n",
      3,
    ]);
    const long = await exec(world, { owner, agent }, "head -c 100000 /dev/zero | tr '\\0' x");
    assert.equal(long.body.stdout, "x".repeat(100_000));
  });
});

Deno.test("relay and agent: an approved command that is altered in transit is refused, and both sides record it", async () => {
  const flip = (text: string) => text.replace("systemctl stop nginx", "systemctl stop nginX");
  await withRelay(flip, async ({ world, owner, agent: { id }, stateDir }) => {
    const approver = await world.join(owner, ["operator"]);
    const asked = await exec(world, { owner, agent: { id } as never }, "systemctl stop nginx");
    assert.equal(asked.status, 202);
    const { approval_id, command_id } = asked.body;
    const path = `/api/shield/approve/${approval_id}`;
    await world.call("POST", path, { as: approver.token, body: {} });
    let events: Awaited<ReturnType<typeof eventsOf>> = [];
    while (!events.some(({ event_type }) => event_type === "verdict_refused")) {
      events = await eventsOf(world, owner, command_id);
    }
    const own = JSON.parse(Deno.readTextFileSync(`${stateDir}/refused.log`));
    const told = events.find(({ event_type }) => event_type === "verdict_refused")!;
    assert.equal(own.command_id, command_id);
    assert.equal(told.details.reason, `the agent refused it (unverified): ${own.reason}`);
    assert.throws(() => Deno.statSync(`${stateDir}/started.log`), Deno.errors.NotFound);
  });
});

Deno.test("relay and agent: the canary's no-op passes end to end, and is reported when altered", async () => {
  let broken = false;
  const alter = (text: string) =>
    broken ? text.replace('"command":"true"', '"command":"trUe"') : text;
  await withRelay(alter, async ({ world, owner, agent, nextLink }) => {
    const run = () =>
      world.call("POST", "/api/shield/canary", { as: owner.token, body: { agent_id: agent.id } });
    const { status, body } = await run();
    assert.deepEqual([status, body.status, body.agent.passed, body.agent.status], [
      200,
      "passed",
      true,
      "succeeded",
    ]);
    const proof = await eventsOf(world, owner, body.agent.command_id);
    assert.ok(proof.some(({ event_type }) => event_type === "command_executed"));
    broken = true;
    const changed = await run();
    assert.deepEqual([changed.status, changed.body.error.code], [503, "CANARY_FAILED"]);
    assert.deepEqual(changed.body.error.details.canary.failed, ["agent"]);
    broken = false;
    await nextLink();
    assert.equal((await run()).status, 200);
  });
});
