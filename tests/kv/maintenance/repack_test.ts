import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { migrate, SCHEMA_KEY } from "../../../kv/maintenance/migrations.ts";
import { exec, linkAgent } from "../../support/linked_agent.ts";
import { rawRows } from "../../support/raw_rows.ts";
import { World } from "../../support/world.ts";

const DAY_MS = 24 * 3_600_000;

/** Puts the stored commands back as schema 2 had them: packed by the time of their end, and without their index. */
async function asSchema2(kv: Deno.Kv, org: string, endedMs: number): Promise<void> {
  for (const { key, value, kind } of await rawRows(kv, { org, space: "live" })) {
    if (kind === "ended_commands=") {
      await kv.set([org, "live", "commands=", endedMs - endedMs % 64, ...key.slice(-2)], value);
    }
    if (/^(ended_commands=|commands\.(agent|open)$)/.test(kind)) await kv.delete(key);
  }
  await kv.set(SCHEMA_KEY, 2);
}

Deno.test("migrate: commands of schema 2 are found by their ids and listed, also of one agent", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv, sole: true });
  const here = await linkAgent(world);
  const texts = ["uptime", "hostname", "rm -rf /", "rm /tmp/../etc/hosts", "uname"];
  for (const command of texts) await exec(world, here, command);
  const shown = async (path: string) => {
    const { status, body } = await world.call("GET", path, { as: here.owner.token });
    eq(status, 200);
    return body.commands;
  };
  const ofAgent = `/api/v1/agents/${here.agent.id}/commands`;
  const paths = [
    "/api/v1/commands",
    ofAgent,
    "/api/v1/commands?status=pending_approval",
  ];
  const before = await Promise.all(paths.map(shown));
  deq(before.map(({ length }) => length), [5, 5, 1]);
  await asSchema2(kv, here.owner.org, world.clock.nowMs + 3_000);
  deq((await shown(ofAgent)).length, 0);
  for (let run = 0; run < 2; run++) {
    await kv.set(SCHEMA_KEY, 2);
    await migrate(world.app.store);
    deq(await Promise.all(paths.map(shown)), before);
  }
  for (const { command_id, command } of before[0]) {
    const { body } = await world.call("GET", `${ofAgent}/${command_id}`, { as: here.owner.token });
    eq(body.command, command);
  }
  deq(await rawRows(kv, { org: here.owner.org, space: "live", kind: "commands=" }), []);
});

Deno.test("migrate: packed commands of schema 2 that have expired are deleted", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv, sole: true });
  const here = await linkAgent(world);
  await exec(world, here, "uptime");
  await asSchema2(kv, here.owner.org, world.clock.nowMs);
  world.clock.nowMs += 400 * DAY_MS;
  await migrate(world.app.store);
  const kept = (await rawRows(kv, { org: here.owner.org, space: "live" }))
    .filter(({ kind }) => /^(ended_)?commands=/.test(kind));
  deq(kept, []);
});

Deno.test("migrate: packed values of one commit whose commands began at one instant are all kept", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv, sole: true });
  const here = await linkAgent(world);
  for (const command of ["uptime", "hostname"]) await exec(world, here, command);
  const { org } = here.owner;
  const list = () => world.call("GET", "/api/v1/commands", { as: here.owner.token });
  const before = (await list()).body.commands;
  eq(before.length, 2);
  const packed = await rawRows(kv, { org, space: "live", kind: "ended_commands=" });
  const lines = packed.filter(({ key }) => key.length === 6)
    .flatMap(({ value }) => new TextDecoder().decode(value as Uint8Array).split("\n"));
  eq(lines.length, 2);
  const [keptMs, stamp] = packed[0]!.key.slice(-2);
  await asSchema2(kv, org, world.clock.nowMs);
  for (const { key } of await rawRows(kv, { org, space: "live", kind: "commands=" })) {
    await kv.delete(key);
  }
  for (const [n, line] of lines.entries()) {
    const key = [org, "live", "commands=", 64 * n + world.clock.nowMs, keptMs!, stamp!];
    await kv.set(key, new TextEncoder().encode(line));
  }
  await migrate(world.app.store);
  deq((await list()).body.commands, before);
});
