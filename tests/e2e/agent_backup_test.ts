import { hash } from "node:crypto";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";
import type { Program } from "../../core/cli/program.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { mulberry32 } from "../support/random.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";

const FILES = 50;
const FILE_BYTES = 100 * 1024;
const SHOWN_MS = 5_000;

interface Setting {
  readonly owner: Client;
  readonly agent: Program;
  readonly agentId: string;
  readonly etc: string;
  readonly stateDir: string;
  /** Kills the relay without warning and starts it again at the same address. */
  killRelay(): Promise<void>;
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly error: string | null;
  readonly attempts: number;
  readonly digest: string | null;
  readonly bytes: number;
  readonly stored_bytes: number;
  readonly undo_backup_id: string | null;
  readonly plan: { create: number; replace: number; remove: number; unchanged: number } | null;
}

/** A relay and an agent whose folder `etc` holds 5 MB that cannot be compressed. */
async function withAgent(use: (setting: Setting) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const etc = `${folder}/etc`;
    const unit = mulberry32(8);
    await Deno.mkdir(`${etc}/conf.d`, { recursive: true });
    for (let n = 0; n < FILES; n++) {
      const bytes = Uint8Array.from({ length: FILE_BYTES }, () => Math.floor(unit() * 256));
      await Deno.writeFile(`${etc}/conf.d/${n}.bin`, bytes);
    }
    await Deno.symlink("conf.d/0.bin", `${etc}/current`);
    const env = { RELAY_KV: `${folder}/relay.kv`, RELAY_CONFIG: JSON.stringify(NO_LIMITS) };
    let { relay, url } = await startRelayProcess(env);
    try {
      const owner = clientOf(url, await signUpOwner(clientOf(url)));
      const stateDir = `${folder}/agent`;
      const agent = startMain(
        ["agent", "--url", url, "--state", stateDir, "--backup", etc],
        { RELAY_TOKEN: await makeKey(owner, ["agents:admin"]) },
      );
      try {
        const [, agentId] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
        const killRelay = async () => {
          await relay.kill();
          const again = await startRelayProcess({ ...env, RELAY_PORT: new URL(url).port });
          relay = again.relay;
          url = again.url;
        };
        await use({ owner, agent, agentId: agentId!, etc, stateDir, killRelay });
      } finally {
        eq((await agent.stop()).code, 0);
      }
    } finally {
      eq((await relay.stop()).code, 0);
    }
  });
}

/** The job when it has ended. */
async function endOf(owner: Client, list: "backups" | "restores", agentId: string, id: string) {
  for (;;) {
    const path = `/api/v1/gitops/${list}/${agentId}`;
    const { body } = await owner<Record<string, Job[]>>("GET", path);
    const job = body[list]!.find((one) => one.id === id)!;
    if (job.status !== "running") return job;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function damage(etc: string): Promise<void> {
  await Deno.writeTextFile(`${etc}/conf.d/1.bin`, "damaged");
  await Deno.remove(`${etc}/conf.d/2.bin`);
  await Deno.remove(`${etc}/current`);
  await Deno.chmod(`${etc}/conf.d/3.bin`, 0o600);
  await Deno.mkdir(`${etc}/new`);
  await Deno.writeTextFile(`${etc}/new/stray`, "stray");
}

/** Every file and link below a folder. */
async function contents(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) Object.assign(found, await contents(path));
    else if (isSymlink) found[path] = `-> ${await Deno.readLink(path)}`;
    else {
      const { mode } = await Deno.stat(path);
      found[path] = `${mode! & 0o777} ${hash("sha256", await Deno.readFile(path))}`;
    }
  }
  return Object.fromEntries(Object.entries(found).sort());
}

Deno.test("backup: 5 MB are backed up, damaged and restored, with the relay killed in the middle of each", async () => {
  await withAgent(async ({ owner, agent, agentId, etc, killRelay }) => {
    const before = await contents(etc);
    const post = async (path: string, body: unknown) => {
      const answer = await owner<Job>("POST", `/api/v1/gitops/${path}/${agentId}`, body);
      return expectStatus(answer, 202, path);
    };
    // One that was over before the kill tells nothing, and is tried again.
    let backup: Job;
    do {
      const started = await post("backup", {});
      await agent.line(/^sending its configuration to the relay/, START_MS);
      await killRelay();
      backup = await endOf(owner, "backups", agentId, started.id);
      eq(backup.status, "complete", backup.error ?? "");
    } while (backup.attempts < 2);
    ok(backup.bytes > FILES * FILE_BYTES);

    await damage(etc);
    const damaged = await contents(etc);

    const dry = await post("restore", { backup_id: backup.id, dry_run: true });
    const rehearsed = await endOf(owner, "restores", agentId, dry.id);
    eq(rehearsed.status, "complete", rehearsed.error ?? "");
    deq(await contents(etc), damaged);

    let restored: Job;
    while (true) {
      const restoring = await post("restore", { backup_id: backup.id });
      await agent.line(/^receiving a configuration from the relay \(restore/, START_MS);
      await killRelay();
      restored = await endOf(owner, "restores", agentId, restoring.id);
      eq(restored.status, "complete", restored.error ?? "");
      if (restored.attempts > 1) break;
      await damage(etc);
    }
    eq(restored.digest, backup.digest);
    deq(await contents(etc), before);
    const { create, replace, remove } = rehearsed.plan!;
    deq({ create, replace, remove }, { create: 2, replace: 2, remove: 1 });

    const undone = await post("restore", { backup_id: restored.undo_backup_id });
    eq((await endOf(owner, "restores", agentId, undone.id)).status, "complete");
    deq(await contents(etc), damaged);
    const audit = await owner<{ events: { event_type: string }[] }>(
      "GET",
      "/api/audit?event_type=restore_completed",
    );
    ok(audit.body.events.length >= 3);
  });
});

Deno.test(`drift: a policy file that is edited by hand is shown and reported within ${SHOWN_MS} ms`, async () => {
  await withAgent(async ({ owner, agentId, stateDir, etc }) => {
    type Drift = {
      drifted: boolean;
      items: { item: string; status: string; since: string; by: unknown }[];
    };
    const drift = async () => (await owner<Drift>("GET", `/api/v1/gitops/drift/${agentId}`)).body;
    deq((await drift()).items, []);
    await Deno.writeTextFile(`${stateDir}/policies.json`, '[{"name":"mine","rules":[]}]\n');
    const editedAt = performance.now();
    // What the agent tells by itself is in the log, without anybody asking for it.
    for (;;) {
      const { body } = await owner<{ events: { details: unknown }[] }>(
        "GET",
        "/api/audit?event_type=drift_detected",
      );
      if (body.events.length > 0) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const tookMs = performance.now() - editedAt;
    console.log(`edited to told: ${Math.round(tookMs)} ms`);
    ok(tookMs < SHOWN_MS);
    const shown = await drift();
    deq(shown.items.map(({ item, status, by }) => [item, status, by]), [
      ["policy:mine", "unexpected", null],
    ]);
    await Deno.remove(`${stateDir}/policies.json`);
    eq((await drift()).drifted, false);

    const path = `/api/v1/gitops/backup/${agentId}`;
    await Deno.symlink("/etc", `${etc}/out`);
    const bad = expectStatus(await owner<Job>("POST", path, {}), 202, "backup");
    const refused = await endOf(owner, "backups", agentId, bad.id);
    eq(refused.status, "failed");
    ok(refused.error!.includes("leads out of the listed paths"));
  });
});
