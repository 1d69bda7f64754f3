import { deepStrictEqual as deq, ok, strictEqual as eq, throws } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import { makeSealer } from "../../core/codec/seal.ts";
import { rotateSecret } from "../../core/host/secrets/rotate.ts";
import type { TransferReply } from "../../core/protocol/transfers.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Answer, SETTINGS } from "../support/world.ts";
import { withBackups } from "./backup_fixtures.ts";
import { AGENT_RIGHTS, eventsOf } from "../support/linked_agent.ts";
import { rawRows } from "../support/raw_rows.ts";

const read = (path: string) => Deno.readTextFileSync(path);
const write = (path: string, text: string) => Deno.writeTextFileSync(path, text);

Deno.test("backup: is listed with its digest and size, and restored whole, and the restore can be undone", async () => {
  await withBackups(async ({ world, owner, etc, backUp, restore }) => {
    const backup = await backUp();
    deq([backup.status, backup.error, backup.files, backup.roots], ["complete", null, 2, [etc]]);
    ok(/^[0-9a-f]{64}$/.test(backup.digest) && backup.stored_bytes > 0);

    write(`${etc}/a.conf`, "damaged");
    Deno.removeSync(`${etc}/conf.d`, { recursive: true });
    write(`${etc}/stray`, "stray");
    const dry = await restore(backup.id, true);
    eq(dry.status, "complete", dry.error);
    const { create, replace, remove, unchanged, changes } = dry.plan;
    deq([create, replace, remove, unchanged], [1, 1, 1, 0]);
    deq(
      changes.map(({ action, path }: Record<string, string>) => [action, path]).sort(),
      [["create", `${etc}/conf.d/b.conf`], ["remove", `${etc}/stray`], [
        "replace",
        `${etc}/a.conf`,
      ]],
    );
    deq([read(`${etc}/a.conf`), dry.undo_backup_id], ["damaged", null]);

    const done = await restore(backup.id);
    deq([done.status, done.digest, done.plan], ["complete", backup.digest, dry.plan]);
    deq([read(`${etc}/a.conf`), read(`${etc}/conf.d/b.conf`)], ["one", "two"]);
    deq([...Deno.readDirSync(etc)].map(({ name }) => name).sort(), ["a.conf", "conf.d"]);

    const undone = await restore(done.undo_backup_id);
    eq(undone.status, "complete", undone.error);
    deq([read(`${etc}/a.conf`), read(`${etc}/stray`)], ["damaged", "stray"]);
    ok(!Array.from(Deno.readDirSync(`${etc}/conf.d`)).length);
    const types = await world.trail(owner);
    deq(types.filter((type) => /^(backup|restore)_/.test(type)), [
      "backup_started",
      "backup_completed",
      ...["restore_started", "restore_completed"],
      ...["restore_started", "restore_completed"],
      ...["restore_started", "restore_completed"],
    ]);
  });
});

Deno.test("backup: its bytes in the store are encrypted, and open after the secret was rotated", async () => {
  await withBackups(async ({ world, owner, etc, backUp, restore }) => {
    const { id } = await backUp();
    const chunks: Uint8Array[] = [];
    const within = { org: owner.org, space: "live", kind: "blob" };
    for (const row of await rawRows<Uint8Array>(world.kv, within)) {
      ok(row.id.startsWith(id));
      chunks.push(row.value);
    }
    throws(() => gunzipSync(Buffer.concat(chunks)), /header/);
    const secret = "another secret of the store";
    const { entropy } = world.app.ports;
    await rotateSecret(world.app.store, makeSealer(secret, entropy, [SETTINGS.secret]), () => {});
    Object.assign(world.app.sealer, makeSealer(secret, entropy));
    write(`${etc}/a.conf`, "damaged");
    const done = await restore(id);
    deq([done.status, done.error, read(`${etc}/a.conf`)], ["complete", null, "one"]);
  });
});

Deno.test("backup: is not restored when its bytes were changed in the store", async () => {
  await withBackups(async ({ world, owner, etc, backUp, restore }) => {
    const { id } = await backUp();
    const within = { org: owner.org, space: "live", kind: "blob" };
    for (const { key, value } of await rawRows(world.kv, within)) {
      const bytes = value as Uint8Array<ArrayBuffer>;
      bytes[bytes.length >> 1]! ^= 1;
      await world.kv.set(key, bytes);
    }
    write(`${etc}/a.conf`, "kept");
    const { status, error, undo_backup_id } = await restore(id);
    deq([status, undo_backup_id, read(`${etc}/a.conf`)], ["failed", null, "kept"]);
    ok(error.includes("altered"), error);
  });
});

Deno.test("drift: backed-up files that have changed are drift until they are restored", async () => {
  await withBackups(async ({ world, owner, agent, etc, backUp, restore }) => {
    const drift = async () => {
      const path = `/api/v1/gitops/drift/${agent.link.id}`;
      return (await world.call("GET", path, { as: owner.token })).body;
    };
    deq((await drift()).items, []);
    const backup = await backUp();
    deq((await drift()).items.map(({ status }: { status: string }) => status), ["in_sync"]);
    const command = `sh -c 'echo x > ${etc}/a.conf'`;
    const query = new URLSearchParams({ command });
    const path = `/api/exec/${agent.link.id}?${query}`;
    eq((await world.call("GET", path, { as: owner.token })).status, 200);
    write(`${etc}/a.conf`, "x");
    const [{ item, status, applied, by }] = (await drift()).items;
    deq([item, status, applied.version], ["files", "changed", backup.id]);
    deq([by.event_type, by.actor], ["command_executed", owner.userId]);
    await restore(backup.id);
    eq((await drift()).drifted, false);
  });
});

Deno.test("backup: keeps links within the listed paths, and fails on one that leads out", async () => {
  await withBackups(async ({ etc, backUp, restore }) => {
    Deno.symlinkSync("conf.d/b.conf", `${etc}/current`);
    const backup = await backUp();
    Deno.removeSync(`${etc}/current`);
    eq((await restore(backup.id)).status, "complete");
    eq(Deno.readLinkSync(`${etc}/current`), "conf.d/b.conf");
    for (const target of ["/etc/passwd", "../state", "conf.d/../../state", "../../../../etc"]) {
      Deno.symlinkSync(target, `${etc}/out`);
      const { status, error, blobs, digest } = await backUp();
      deq([status, digest, blobs], ["failed", null, undefined], target);
      ok(error.includes("leads out of the listed paths"), error);
      Deno.removeSync(`${etc}/out`);
    }
    // A folder that became a link must not lead a restored file elsewhere.
    Deno.removeSync(`${etc}/conf.d`, { recursive: true });
    Deno.symlinkSync(etc, `${etc}/conf.d`);
    const through = await restore(backup.id);
    eq(through.status, "failed");
    eq([...Deno.readDirSync(etc)].some(({ name }) => name === "b.conf"), false);
  });
});

Deno.test("backup: the agent refuses more than 1,000 files or 16 MiB, with the reason", async () => {
  await withBackups(async ({ etc, backUp }) => {
    write(`${etc}/big`, "");
    Deno.truncateSync(`${etc}/big`, 16 * 1024 * 1024 + 1);
    const large = await backUp();
    deq([large.status, large.error], ["failed", "more than 16777216 bytes are listed"]);
    Deno.removeSync(`${etc}/big`);
    for (let n = 0; n < 999; n++) write(`${etc}/conf.d/${n}`, "");
    const many = await backUp();
    deq([many.status, many.error], ["failed", "more than 1000 files are listed"]);
  });
});

Deno.test("backup: an archive that does not match its digest is not kept", async () => {
  const sha256 = "0".repeat(64);
  const lies: [string, (frame: TransferReply) => TransferReply][] = [
    [
      "the archive does not match the digest that the agent gave",
      (frame) => frame.type === "transfer_ready" ? { ...frame, sha256 } : frame,
    ],
    [
      "the archive does not match the digest that the agent gave",
      (frame) => {
        if (frame.type !== "transfer_data") return frame;
        const bytes = Buffer.from(frame.data, "base64");
        bytes[bytes.length - 6]! ^= 1;
        return { ...frame, data: bytes.toString("base64") };
      },
    ],
    [
      "a piece of the archive has the wrong offset or length",
      (frame) => frame.type === "transfer_data" ? { ...frame, offset: 1 } : frame,
    ],
    [
      "a piece of the archive has the wrong offset or length",
      (frame) => frame.type === "transfer_data" ? { ...frame, data: "" } : frame,
    ],
    [
      "a piece of the archive has the wrong offset or length",
      (frame) => frame.type === "transfer_data" ? { ...frame, data: `AAAA${frame.data}` } : frame,
    ],
    [
      "the agent answered out of order",
      (frame) =>
        frame.type === "transfer_ready"
          ? { type: "transfer_want", job_id: frame.job_id, offset: 0 }
          : frame,
    ],
  ];
  for (const [error, reply] of lies) {
    await withBackups(async ({ world, owner, backUp }) => {
      const backup = await backUp();
      deq([backup.status, backup.error, backup.digest], ["failed", error, null]);
      const row = (await eventsOf(world, owner, backup.id)).at(-1)!;
      deq([row.event_type, row.details["reason"]], ["backup_failed", error]);
    }, { reply });
  }
});

Deno.test("restore: the agent writes nothing when the archive does not match its digest", async () => {
  await withBackups(async ({ world, owner, agent, etc, backUp, post, endOf }) => {
    const backup = await backUp();
    write(`${etc}/a.conf`, "later");
    agent.spoil = (frame) => {
      if (frame.type !== "transfer_data") return frame;
      const bytes = Buffer.from(frame.data, "base64");
      bytes[bytes.length - 1]! ^= 1;
      return { ...frame, data: bytes.toString("base64") };
    };
    const started = await post("restore", { backup_id: backup.id });
    const restore = await endOf("restores", started.body.id);
    eq(restore.status, "failed");
    eq(read(`${etc}/a.conf`), "later");
    const last = (await eventsOf(world, owner, restore.id)).at(-1)!;
    eq(last.event_type, "restore_failed");
    // The order is signed, so another digest in it closes the link.
    agent.spoil = (frame) =>
      frame.type === "transfer" ? { ...frame, sha256: "0".repeat(64) } : frame;
    await post("restore", { backup_id: backup.id, dry_run: true });
    while (agent.refused === null) await world.settle();
    eq(agent.refused, "it is not signed by the relay for this agent and this link");
  });
});

Deno.test("restore: refuses an incomplete backup, one of another agent, and paths that the agent does not list", async () => {
  await withBackups(async ({ world, owner, agent, etc, backUp, post, restore }) => {
    const good = await backUp();
    Deno.symlinkSync("/etc", `${etc}/out`);
    const bad = await backUp();
    Deno.removeSync(`${etc}/out`);
    const refused = await post("restore", { backup_id: bad.id });
    deq([refused.status, refused.body.error.code], [409, "CONFLICT"]);
    const missing = await post("restore", { backup_id: "bkp_missing" });
    eq(missing.status, 404);
    const key = await world.key(owner, AGENT_RIGHTS);
    const second = await ScriptedAgent.connect(world, key.value, { name: "web-2" });
    const of = (id: string, backup_id: string, as = owner.token) =>
      world.call("POST", `/api/v1/gitops/restore/${id}`, { as, body: { backup_id } });
    const bare = ({ body }: Answer) => ({ ...body.error, details: {} });
    deq(bare(await of(second.id, good.id)), bare(missing));
    const other = await world.signUp();
    const foreign = await of(agent.link.id, good.id, other.token);
    deq(bare(foreign), bare(await of("agt_missing", good.id, other.token)));
    for (const list of ["backups", "restores"]) {
      const path = `/api/v1/gitops/${list}/${agent.link.id}`;
      eq((await world.call("GET", path, { as: other.token })).status, 404);
    }
    agent.lists("var");
    const elsewhere = await restore(good.id);
    eq(elsewhere.status, "failed");
    ok(elsewhere.error.includes("which is not listed here"), elsewhere.error);
  });
});

Deno.test("backup: allows one at a time for each agent, and none for one that is not linked", async () => {
  await withBackups(async ({ world, owner, agent, post, endOf }) => {
    agent.hold = true;
    const first = await post("backup");
    eq(first.status, 202);
    const second = await post("backup");
    deq([second.status, second.body.error.code], [409, "CONFLICT"]);
    eq(second.body.error.details.id, first.body.id);
    // The link is lost midway; the job goes on with the next one.
    await agent.link.until("transfer");
    agent.link.drop();
    await world.settle();
    const offline = await post("backup");
    eq(offline.status, 409);
    agent.hold = false;
    await agent.again();
    const done = await endOf("backups", first.body.id);
    deq([done.status, done.attempts], ["complete", 2]);
    const row = (await eventsOf(world, owner, done.id)).map(({ event_type }) => event_type);
    deq(row, ["backup_started", "backup_completed"]);
  });
});

Deno.test("backup: fails when the agent does not come back, and goes with a deleted agent", async () => {
  await withBackups(async ({ world, owner, agent, post, endOf, backUp }) => {
    agent.hold = true;
    const lost = await post("backup");
    agent.link.drop();
    await world.advance(16 * 60_000);
    const given = await endOf("backups", lost.body.id);
    deq([given.status, given.error], ["failed", "the agent did not reconnect in time"]);
    eq((await post("backup")).status, 409);

    agent.hold = false;
    await agent.again();
    const kept = await backUp();
    eq(kept.status, "complete");
    agent.hold = true;
    const cut = await post("backup");
    eq(cut.status, 202);
    const path = `/api/v1/agents/${agent.link.id}`;
    eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
    await world.advance(20 * 60_000);
    const left = [];
    for (const { key, kind } of await rawRows(world.kv)) {
      if (/^(backups|restores|agent_states|deleted_agents)\b/.test(kind)) left.push(key);
    }
    deq(left, []);
  });
});

Deno.test("backup: one started while the clock was far ahead fails like others, and another may start", async () => {
  await withBackups(async ({ world, owner, agent, post, backUp }) => {
    agent.hold = true;
    world.clock.nowMs += 50 * 60_000;
    await post("backup");
    agent.link.drop();
    await world.settle();
    world.clock.nowMs -= 50 * 60_000;
    await world.app.transfers.sweep();
    const path = `/api/v1/gitops/backups/${agent.link.id}`;
    const { body: { backups: [given] } } = await world.call("GET", path, { as: owner.token });
    deq([given.status, given.error], ["failed", "the agent did not reconnect in time"]);
    agent.hold = false;
    await agent.again();
    eq((await backUp()).status, "complete");
  });
});

Deno.test("backup: fails when the agent does not answer in time", async () => {
  await withBackups(async ({ world, agent, post, endOf }) => {
    agent.hold = true;
    const started = await post("backup");
    await world.advance(61_000);
    const failed = await endOf("backups", started.body.id);
    deq([failed.status, failed.error], ["failed", "the agent did not answer in time"]);
  });
});
