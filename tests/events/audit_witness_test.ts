import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { keepCheckpoint, witnessedSize } from "../../core/cli/agent/witness.ts";
import { makeCheckpoint } from "../../core/events/trail/checkpoints.ts";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import { readKey, readStatement } from "../../core/protocol/checkpoints/note.ts";
import { dropExpiredRows } from "../../core/events/trail/retention.ts";
import type { CheckpointFrame } from "../../core/protocol/protocol.ts";
import { filesOf } from "../support/agent_files.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { exec, linkAgent, makeHook } from "../support/linked_agent.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

const checkpointsOf = (agent: ScriptedAgent): CheckpointFrame[] =>
  agent.received.filter((frame) => frame.type === "checkpoint");

async function note(world: World, { token }: Account, n: number): Promise<void> {
  const body = { event_type: "note", details: { text: "x".repeat(6_000) } };
  for (let at = 0; at < n; at++) await world.call("POST", "/api/audit/event", { as: token, body });
}

/** Advances one minute with heartbeats of an agent. */
async function minute(world: World, agent: ScriptedAgent): Promise<void> {
  for (let n = 0; n < 3; n++) {
    agent.send({ type: "heartbeat", status: "ok" });
    await world.advance(20_500);
  }
}

const verify = async (text: string, key: string) =>
  await verifyExport(ReadableStream.from([new TextEncoder().encode(text)]), { key: readKey(key)! });

Deno.test("checkpoint: agents witness a growing log each minute and keep only consistent checkpoints", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const files = filesOf();
  for (let n = 0; n < 3; n++) {
    await note(world, here.owner, 1 + n);
    await minute(world, here.agent);
    const frame = checkpointsOf(here.agent).at(-1)!;
    eq(checkpointsOf(here.agent).length, n + 1);
    eq(keepCheckpoint("", frame, files), null);
    eq(witnessedSize("", files), readStatement(frame.note)!.size);
  }
  const [first, , last] = checkpointsOf(here.agent) as [CheckpointFrame, unknown, CheckpointFrame];
  const kept = [...files.kept];
  eq(keepCheckpoint("", first, files), "rolled_back");
  eq(keepCheckpoint("", { ...last, public_key: `${last.public_key}x` }, files), "another_key");
  eq(
    keepCheckpoint("", { ...last, note: last.note.replace("\ntime 2", "\ntime 3") }, files),
    "unproven",
  );
  const older = filesOf();
  eq(keepCheckpoint("", first, older), null);
  eq(keepCheckpoint("", { ...last, proof: last.proof.toReversed() }, older), "rewritten");
  deq([...files.kept], kept);
});

Deno.test("checkpoint: a new link gets the proof from the agent's checkpoint, and a refusal is recorded once", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await minute(world, here.agent);
  const files = filesOf();
  eq(keepCheckpoint("", checkpointsOf(here.agent)[0]!, files), null);
  await note(world, here.owner, 3);
  await world.call("GET", "/api/audit/checkpoint", { as: here.owner.token });
  const again = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
    hello: (hello) => ({ ...hello, witnessed: witnessedSize("", files) }),
  });
  await world.settle();
  eq(keepCheckpoint("", checkpointsOf(again)[0]!, files), null);
  const refusal = {
    type: "checkpoint_refused",
    reason: "rolled_back",
    witnessed: 9,
    size: 2,
  } as const;
  again.send(refusal);
  again.send(refusal);
  await world.settle();
  const { body } = await world.call("GET", "/api/audit?event_type=checkpoint_refused", {
    as: here.owner.token,
  });
  deq(body.events.map(({ details }: { details: unknown }) => details), [
    { name: "web-1", reason: "rolled_back", witnessed: 9, size: 2 },
  ]);
});

Deno.test("checkpoint: simultaneous checkpoints of a new link and the timer are sent in order", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await minute(world, here.agent);
  const files = filesOf();
  eq(keepCheckpoint("", checkpointsOf(here.agent)[0]!, files), null);
  const taken: unknown[] = [];
  const tenant = { org: here.owner.org, space: "live" } as const;
  await note(world, here.owner, 3);
  await makeCheckpoint(world.app, world.app.audit, tenant);
  const again = await ScriptedAgent.connect(world, here.key.value, {
    identity: here.agent.identity,
    hello: (hello) => ({ ...hello, witnessed: witnessedSize("", files) }),
    take: (frame) => {
      if (frame.type === "checkpoint") taken.push(keepCheckpoint("", frame, files));
    },
  });
  for (let n = 0; n < 2; n++) world.app.links.witness(tenant);
  await world.settle();
  deq(taken, [null]);
  eq(again.closed, null);
});

Deno.test("webhooks: a delivery carries the newest checkpoint", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await makeHook(world, here.owner, ["command_executed"]);
  await minute(world, here.agent);
  const ran = exec(world, here, "uptime");
  await world.settle();
  await ran;
  await world.settle();
  const header = world.network.sent.at(-1)!.headers["X-Audit-Checkpoint"]!;
  const statement = readStatement(Buffer.from(header, "base64").toString())!;
  eq(statement.origin, `relay/${here.owner.org}/live`);
  ok(statement.size > 0);
});

Deno.test("retention_days.audit: expired rows are removed, their hashes stay, and every proof holds", async () => {
  await using world = await World.open({ config: { retention_days: { audit: 30 } } });
  const owner = await world.signUp();
  await note(world, owner, 60);
  const as = { as: owner.token };
  const old = (await world.call("GET", "/api/audit/checkpoint", as)).body;
  const { body: { events } } = await world.call(
    "GET",
    "/api/audit?limit=200&event_type=note",
    as,
  );
  const event = events.at(-1);
  eq(await dropExpiredRows(world.app), 0);
  world.clock.nowMs += 31 * DAY_MS;
  const login = { email: owner.email, password: "password 1" };
  const { token } = (await world.call("POST", "/api/v1/login", { body: login })).body;
  await dropExpiredRows(world.app);
  const now = { as: token };
  const { body: proof } = await world.call("GET", `/api/audit/proof/${event.event_id}`, now);
  deq([proof.seq, proof.row], [event.seq, null]);
  const path = `/api/audit/consistency?from=${old.tree_size}`;
  eq((await world.call("GET", path, now)).body.from_root, old.root_hash);
  const accept = { headers: { accept: "application/x-ndjson" } };
  const { text } = await world.call("GET", "/api/audit/export", { ...now, ...accept });
  const verdict = await verify(text, old.public_key);
  eq(verdict.finding, null);
  ok(verdict.statement!.expired >= event.seq);
  eq(verdict.rows, verdict.statement!.size - verdict.statement!.expired);
  const lines = text.split("\n");
  deq((await verify(lines.slice(1).join("\n"), old.public_key)).finding?.kind, "missing");
});

Deno.test("legal_hold: held rows stay whatever their age", async () => {
  for (const held of ["*", "this"]) {
    const config = { retention_days: { audit: 1 }, legal_hold: ["*"] };
    await using world = await World.open({ config });
    const owner = await world.signUp();
    if (held === "this") world.app.config().legal_hold.splice(0, 1, owner.org);
    await note(world, owner, 30);
    await world.settle();
    world.clock.nowMs += 10 * DAY_MS;
    eq(await dropExpiredRows(world.app), 0);
    eq((await world.app.log.read({ org: owner.org, space: "live" }, 0, 1))[0]!.seq, 1);
  }
});
