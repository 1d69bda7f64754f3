import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SealError } from "../../core/codec/seal.ts";
import {
  publicKeyOf,
  rawPublicKey,
  signText,
  verifiesText,
} from "../../core/protocol/statements.ts";
import { verdictKeyOf } from "../../core/agents/links/verdict_keys.ts";
import { commands } from "../../kv/records/command.ts";
import { tenantKey } from "../../kv/store/collection.ts";
import { verdictKeys } from "../../kv/records/verdict_key.ts";
import type { RelayFrame, RunFrame } from "../../core/protocol/protocol.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";
import {
  AGENT_RIGHTS,
  comeBack,
  eventsOf,
  exec,
  finish,
  linkAgent,
  type Linked,
  runsOf,
} from "../support/linked_agent.ts";

const batchesOf = (agent: ScriptedAgent): RunFrame[] =>
  agent.received.filter((frame): frame is RunFrame => frame.type === "run");

const welcomeOf = (agent: ScriptedAgent) =>
  agent.received.find((frame): frame is Extract<RelayFrame, { type: "welcome" }> =>
    frame.type === "welcome"
  )!;

/** An organization whose agent receives the relay's messages as `wire` changes them. */
async function linkOver(world: World, wire: (text: string) => string): Promise<Linked> {
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  return { owner, key, agent: await ScriptedAgent.connect(world, key.value, { wire }) };
}

/** Changes messages of one type. */
const onRuns = (change: (frame: RunFrame) => unknown) => (text: string): string => {
  const frame: RelayFrame = JSON.parse(text);
  return frame.type === "run" ? JSON.stringify(change(frame)) : text;
};

async function command(world: World, { owner, agent }: Linked, id: string) {
  await world.settle();
  const path = `/api/v1/agents/${agent.id}/commands/${id}`;
  return (await world.call("GET", path, { as: owner.token })).body;
}

Deno.test("verdict key: one for each organization and space, proven at each welcome, sealed at rest", async () => {
  await using world = await World.open();
  const [here, there] = [await linkAgent(world), await linkAgent(world)];
  const test = await world.key(here.owner, AGENT_RIGHTS, { type: "test" });
  const inTest = await ScriptedAgent.connect(world, test.value);
  const again = await ScriptedAgent.connect(world, here.key.value, { name: "web-2" });
  const keys = [here.agent, there.agent, inTest].map((agent) => welcomeOf(agent).verdict_key);
  eq(new Set(keys).size, 3);
  eq(welcomeOf(again).verdict_key, keys[0]);
  const tenant = { org: here.owner.org, space: "live" } as const;
  const { privateKey } = await verdictKeyOf(world.app, tenant);
  eq(rawPublicKey(privateKey), keys[0]);
  // A key copied to another tenant does not open there.
  await world.app.store.transact(async (tx) => {
    const other = { ...tenant, org: there.owner.org };
    const record = await tx.get(verdictKeys, other, tenantKey(other));
    tx.put(verdictKeys, tenant, { ...record!, id: tenantKey(tenant) });
  });
  await verdictKeyOf(world.app, tenant).then(
    () => ok(false),
    (error) => ok(error instanceof SealError),
  );
});

Deno.test("run: commands of one turn go in one message under one verdict, at most 64, in order", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const { links } = world.app;
  const tenant = { org: here.owner.org, space: "live" } as const;
  const link = links.of(tenant, here.agent.id)!;
  const ran = await Promise.all(
    Array.from({ length: 70 }, (_, n) => exec(world, here, `echo ${n}`)),
  );
  deq(ran.map(({ status }) => status), Array(70).fill(200));
  const batches = batchesOf(here.agent);
  ok(batches.every((batch) => batch.commands.length <= 64));
  ok(batches.length <= 3, `${batches.length} messages`);
  deq(batches.map(({ batch }) => batch), batches.map((_, n) => n + 1));
  eq(batches.flatMap((batch) => batch.commands).length, 70);
  eq(here.agent.refusals.length, 0);
  eq(link.run({ order: batches[0]!.commands[0]!, sha256: "" }), true);
  // Another frame does not overtake the commands that wait for the end of the turn.
  link.send({ type: "cancel", command_id: "cmd_x" });
  deq(here.agent.received.slice(-2).map(({ type }) => type), ["run", "cancel"]);
});

Deno.test("verdict: a byte changed in transit runs nothing, and both sides report it", async () => {
  const flips: [string, (frame: RunFrame) => unknown, string][] = [
    ["command", ({ commands: [first], ...frame }) => ({
      ...frame,
      commands: [{ ...first, command: "uptimE" }],
    }), "not valid for these bytes"],
    ["timeout", ({ commands: [first], ...frame }) => ({
      ...frame,
      commands: [{ ...first, timeout_ms: 60_001 }],
    }), "not valid for these bytes"],
    ["policy", ({ commands: [first], ...frame }) => ({
      ...frame,
      commands: [{ ...first, policy_version: "0" }],
    }), "not valid for these bytes"],
    [
      "expiry",
      (frame) => ({ ...frame, expires_at_ms: frame.expires_at_ms + 1 }),
      "not valid",
    ],
    ["no verdict", ({ signature: _, ...frame }) => frame, "has no verdict"],
  ];
  for (const [what, flip, why] of flips) {
    await using world = await World.open();
    const here = await linkOver(world, onRuns(flip));
    const scripted: string[] = [];
    here.agent.script = ({ command }) => {
      scripted.push(command);
      return {};
    };
    const { status, body } = await exec(world, here, "uptime");
    deq([what, status, body.error.code, scripted], [what, 503, "UNAVAILABLE", []]);
    ok(here.agent.refusals[0]!.includes(why), here.agent.refusals[0]);
    const { command_id } = body.error.details;
    const shown = await command(world, here, command_id);
    eq(shown.status, "failed");
    ok(shown.reason.includes("unverified"));
    const events = await eventsOf(world, here.owner, command_id);
    deq(events.map(({ event_type }) => event_type), ["command_failed", "verdict_refused"]);
    ok(String(events[1]!.details.reason).includes(why));
  }
});

Deno.test("verdict: it is valid once, for one agent and one link, for 60 s of the relay's clock", async () => {
  await using world = await World.open();
  let recorded: string | null = null;
  const record = (text: string) => {
    if (JSON.parse(text).type === "run") recorded ??= text;
    return text;
  };
  const here = await linkOver(world, record);
  eq((await exec(world, here, "uptime")).status, 200);
  const replayed = (text: string) => JSON.parse(text).type === "run" ? recorded! : text;
  const { identity } = here.agent;
  const others = {
    "not valid for these bytes, this agent": {},
    "not valid for these bytes, this agent and this link": { identity },
  };
  for (const [why, options] of Object.entries(others)) {
    const agent = await ScriptedAgent.connect(world, here.key.value, {
      ...options,
      wire: replayed,
    });
    agent.script = () => {
      throw new Error("a replayed command was run");
    };
    eq((await exec(world, { ...here, agent }, "date")).status !== 200, true);
    ok(agent.refusals[0]!.includes(why));
  }
  let sent: string | null = null;
  const twice = await ScriptedAgent.connect(world, here.key.value, {
    name: "web-3",
    wire: (text) => JSON.parse(text).type !== "run" ? text : sent ??= text,
  });
  eq((await exec(world, { ...here, agent: twice }, "uptime")).status, 200);
  const again = exec(world, { ...here, agent: twice }, "uptime");
  await world.settle();
  deq(twice.refusals, ["its verdict was used before"]);
  eq((await again).status, 502);
  for (const [heldMs, refusals] of [[59_999, []], [60_000, ["its verdict has expired"]]] as const) {
    const agent = await ScriptedAgent.connect(world, here.key.value, {
      name: `web-${heldMs}`,
      wire: onRuns((frame) => {
        world.clock.nowMs += heldMs;
        return frame;
      }),
    });
    await exec(world, { ...here, agent }, "uptime");
    deq(agent.refusals, refusals);
  }
});

Deno.test("receipt: the events of a batch prove it with the agent's public key alone", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const ends = [
    { exit_code: 0, stdout: "out\n" },
    { exit_code: 3, stderr: "err\n" },
    { exit_code: null, signal: "SIGKILL" },
    { exit_code: null, signal: "SIGTERM", reason: "timed_out" },
  ] as const;
  const ids: string[] = [];
  here.agent.script = ({ command_id }) => {
    ids.push(command_id);
    if (ids.length < ends.length) return "silent";
    here.agent.finish(...ids.map((id, at) => ({ command_id: id, ...ends[at]! })).reverse());
    return "silent";
  };
  await Promise.all(ends.map((_, n) => exec(world, here, `echo ${n}`)));
  const rows = await Promise.all(ids.map((id) => eventsOf(world, here.owner, id)));
  deq(rows.map((row) => row.map(({ event_type }) => event_type)), [
    ["command_executed"],
    ["command_executed"],
    ["command_executed"],
    ["command_timeout"],
  ]);
  const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const lines = rows.map(([row]) => {
    // deno-lint-ignore no-explicit-any -- an event as any reader gets it
    const { command_id, exit_code, signal, status, truncated, receipt } = row!.details as any;
    const reason = status === "timed_out" ? status : "exited";
    const digests = `${receipt.stdout_sha256 ?? empty} ${receipt.stderr_sha256 ?? empty}`;
    return `${command_id} ${receipt.verdict} ${exit_code ?? "-"} ${signal ?? "-"} ${reason} ` +
      `${truncated} ${digests}\n`;
  });
  const signatures = new Set(
    rows.map(([row]) => (row!.details.receipt as { signature: string }).signature),
  );
  eq(signatures.size, 1);
  const text = `relay.receipt.v1\n${here.agent.id}\n${lines.sort().join("")}`;
  const key = publicKeyOf(rawPublicKey(here.agent.identity))!;
  ok(verifiesText(key, text, [...signatures][0]!));
  const verdicts = batchesOf(here.agent).map(({ batch }) => `${here.agent.nonce}.${batch}`);
  for (const [row] of rows) {
    ok(verdicts.includes((row!.details.receipt as { verdict: string }).verdict));
    eq(row!.details.policy_version, runsOf(here.agent)[0]!.policy_version);
  }
});

Deno.test("receipt: unsigned results are refused: the command is lost, an event says so, and the link closes", async () => {
  const stranger = newIdentity();
  const forgeries: [string, (agent: ScriptedAgent, id: string) => void][] = [
    ["another key", (agent, id) => {
      agent.sign = (text) => signText(stranger, text);
      finish(agent, id);
    }],
    ["no signature", (agent, id) => {
      agent.sign = () => "";
      finish(agent, id);
    }],
    ["another output", (agent, id) => {
      const { sign } = agent;
      agent.sign = (text) => sign(text.replace(/ [0-9a-f]{64}\n/, ` ${"0".repeat(64)}\n`));
      finish(agent, id);
    }],
    ["another exit code", (agent, id) => {
      const { sign } = agent;
      agent.sign = (text) => sign(text.replace(" 0 - exited", " 1 - exited"));
      finish(agent, id);
    }],
    ["another verdict", (agent, id) => finish(agent, id, { verdict: `${agent.nonce}.9` })],
    ["other output before", (agent, id) => finish(agent, id, { stdout_sha256: "0".repeat(64) })],
  ];
  for (const [what, forge] of forgeries) {
    await using world = await World.open();
    const here = await linkAgent(world);
    here.agent.script = ({ command_id }) => {
      here.agent.send({ type: "output", command_id, stream: "stdout", data: "came before" });
      queueMicrotask(() => forge(here.agent, command_id));
      return "silent";
    };
    const { status, body } = await exec(world, here, "uptime");
    deq([what, status, here.agent.closed?.code], [what, 502, 4425]);
    const { command_id } = body.error.details;
    eq((await command(world, here, command_id)).status, "lost");
    const events = await eventsOf(world, here.owner, here.agent.id);
    const refused = events.filter(({ event_type }) => event_type === "receipt_refused");
    deq(refused.map(({ details }) => details.command_ids), [[command_id]]);
    // The same result with a valid receipt, on a new link, is still accepted.
    const again = await ScriptedAgent.connect(world, here.key.value, {
      identity: here.agent.identity,
    });
    finish(again, command_id, { exit_code: 5 });
    const shown = await command(world, here, command_id);
    deq([shown.status, shown.exit_code], ["failed", 5]);
    const late = (await eventsOf(world, here.owner, command_id)).at(-1)!;
    ok((late.details.receipt as { signature: string }).signature);
  }
});

Deno.test("receipt: a late result of another verdict or without a signature is refused", async () => {
  const forgeries: ((agent: ScriptedAgent, id: string) => void)[] = [
    (agent, id) => finish(agent, id, { verdict: `${agent.nonce}.7` }),
    (agent, id) => {
      agent.sign = () => "A".repeat(86);
      finish(agent, id);
    },
  ];
  for (const forge of forgeries) {
    await using world = await World.open();
    const here = await linkAgent(world);
    here.agent.script = () => "silent";
    const { again, command_id } = await comeBack(world, here);
    forge(again, command_id);
    await world.settle();
    deq([again.closed?.code, (await command(world, here, command_id)).status], [4425, "lost"]);
    const events = await eventsOf(world, here.owner, here.agent.id);
    ok(events.some(({ event_type }) => event_type === "receipt_refused"));
  }
});

Deno.test("run: commands still queued when the link closes are recorded as unsent", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const link = world.app.links.of({ org: here.owner.org, space: "live" }, here.agent.id)!;
  const run = link.run.bind(link);
  link.run = (digested) => {
    const taken = run(digested);
    here.agent.drop();
    return taken;
  };
  const { status, body } = await exec(world, here, "uptime");
  deq([status, runsOf(here.agent)], [503, []]);
  const { command_id } = body.error.details;
  const { status: ended, reason } = await command(world, here, command_id);
  deq([ended, reason], ["failed", "its link was not usable, so it was not sent"]);
});

Deno.test("approved command: it is not sent if a byte, its agent or its policy changed before", async () => {
  for (const what of ["command", "agent", "policy"] as const) {
    await using world = await World.open();
    const here = await linkAgent(world);
    const other = await ScriptedAgent.connect(world, here.key.value, { name: "web-2" });
    const approver = await world.join(here.owner, ["operator"]);
    const { status, body } = await exec(world, here, "systemctl stop nginx");
    eq(status, 202);
    here.agent.drop();
    const path = `/api/shield/approve/${body.approval_id}`;
    eq((await world.call("POST", path, { as: approver.token, body: {} })).status, 200);
    const changes = {
      command: { command: "systemctl stop nginX" },
      agent: { agent_id: other.id },
      policy: { policy_version: "0" },
    };
    const tenant = { org: here.owner.org, space: "live" } as const;
    await world.app.store.transact(async (tx) => {
      const row = (await tx.get(commands, tenant, body.command_id))!;
      eq(row.status, "queued");
      tx.put(commands, tenant, { ...row, ...changes[what] });
    });
    const again = await ScriptedAgent.connect(world, here.key.value, {
      identity: here.agent.identity,
    });
    await world.advance(30_000);
    const holder = what === "agent" ? other : again;
    const ended = await command(world, { ...here, agent: holder }, body.command_id);
    deq([what, ended.status, runsOf(again), runsOf(other)], [what, "failed", [], []]);
    const events = await eventsOf(world, here.owner, body.command_id);
    deq(events.map(({ event_type }) => event_type), ["command_failed", "approval_mismatch"]);
    ok(String(events[1]!.details.reason).includes("differs from the approved command"));
  }
});
