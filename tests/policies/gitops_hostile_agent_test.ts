import { hash } from "node:crypto";
import { Buffer } from "node:buffer";
import { deepStrictEqual as deq, strictEqual as eq, throws } from "node:assert/strict";
import { compress, packArchive, unpackArchive } from "../../core/protocol/archive.ts";
import { MAX_ARCHIVE_BYTES, PIECE_BYTES } from "../../core/protocol/transfers.ts";
import { World } from "../support/world.ts";
import { linkAgent, type Linked } from "../support/linked_agent.ts";

const SETTINGS = { name: "web-1", labels: {} };
const ARCHIVE = packArchive({
  head: { format: "relay.configuration.v1", settings: SETTINGS, roots: [], entries: [] },
  contents: [],
});

const list = (world: World, { owner, agent }: Linked, what: string) =>
  world.call("GET", `/api/v1/gitops/${what}/${agent.id}`, { as: owner.token });

/** The last order of that kind that the agent received. */
const last = <T extends string>({ agent }: Linked, type: T) =>
  agent.received.findLast((frame) => frame.type === type) as { type: T; job_id: string };

async function beginBackup(world: World, here: Linked): Promise<string> {
  const path = `/api/v1/gitops/backup/${here.agent.id}`;
  const { status, text } = await world.call("POST", path, { as: here.owner.token, body: {} });
  eq(status, 202, text);
  await world.settle();
  return last(here, "transfer").job_id;
}

Deno.test("backup: fails when the agent sends tiny pieces", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const job_id = await beginBackup(world, here);
  const sha256 = hash("sha256", ARCHIVE);
  here.agent.send({ type: "transfer_ready", job_id, bytes: 9, sha256, stored_bytes: 1_000 });
  await world.settle();
  here.agent.send({ type: "transfer_data", job_id, offset: 0, data: btoa("x") });
  await world.settle();
  const { body: { backups: [backup] } } = await list(world, here, "backups");
  deq([backup.status, backup.error], [
    "failed",
    "a piece of the archive has the wrong offset or length",
  ]);
});

Deno.test("backup: fails after ten minutes when the agent is slow with each piece", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const job_id = await beginBackup(world, here);
  const stored_bytes = MAX_ARCHIVE_BYTES;
  const sha256 = hash("sha256", ARCHIVE);
  here.agent.send({ type: "transfer_ready", job_id, bytes: 9, sha256, stored_bytes });
  const data = Buffer.alloc(PIECE_BYTES).toString("base64");
  for (let n = 0; n < 14; n++) {
    await world.advance(45_000);
    here.agent.send({ type: "heartbeat", status: "ok" });
    here.agent.send({ type: "transfer_data", job_id, offset: n * PIECE_BYTES, data });
    await world.settle();
  }
  const { body: { backups: [backup] } } = await list(world, here, "backups");
  deq([backup.status, backup.error], ["failed", "the agent took too long"]);
});

Deno.test("restore: fails when the agent asks for the same piece again", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const job_id = await beginBackup(world, here);
  const stored = Buffer.from(await compress(ARCHIVE));
  here.agent.send({
    type: "transfer_ready",
    job_id,
    bytes: ARCHIVE.length,
    sha256: hash("sha256", ARCHIVE),
    stored_bytes: stored.length,
  });
  await world.settle();
  here.agent.send({ type: "transfer_data", job_id, offset: 0, data: stored.toString("base64") });
  // Unpacking happens on another thread.
  while ((await list(world, here, "backups")).body.backups[0].status === "running") {
    await world.settle();
  }
  const body = { backup_id: job_id, dry_run: true };
  const path = `/api/v1/gitops/restore/${here.agent.id}`;
  eq((await world.call("POST", path, { as: here.owner.token, body })).status, 202);
  await world.settle();
  const restore = last(here, "transfer").job_id;
  for (let n = 0; n < 2; n++) {
    here.agent.send({ type: "transfer_want", job_id: restore, offset: 0 });
    await world.settle();
  }
  const { body: { restores: [shown] } } = await list(world, here, "restores");
  deq([shown.status, shown.error], ["failed", "the agent asks for a piece out of order"]);
});

Deno.test("archive: checks the length and the counts of a head before reading it", () => {
  const format = "relay.configuration.v1";
  const labels = (n: number) =>
    Object.fromEntries(Array.from({ length: n }, (_, at) => [`l${at}`, ""]));
  const head = (more: Record<string, unknown>) =>
    new TextEncoder().encode(
      JSON.stringify({ format, settings: SETTINGS, roots: [], entries: [], ...more }) + "\n",
    );
  const settings = { name: "web-1", labels: labels(16) };
  eq(Object.keys(unpackArchive(head({ settings })).head.settings.labels).length, 16);
  const wrong = Array.from({ length: 5_000 }, () => ({}));
  for (
    const more of [
      { settings: { name: "web-1", labels: labels(17) } },
      { settings: { name: "web-1", labels: { ...labels(5_000), last: 0 } } },
      { roots: wrong },
      { entries: wrong },
    ]
  ) {
    throws(() => unpackArchive(head(more)), ({ issues }) => {
      eq(issues.length, 1);
      return /must hold at most/.test(issues[0].message);
    });
  }
  const long = head({ settings: { name: "x".repeat(2 * 1024 * 1024), labels: {} } });
  throws(() => unpackArchive(long), /head is too long/);
});
