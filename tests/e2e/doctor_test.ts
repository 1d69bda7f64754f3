import assert from "node:assert/strict";
import type { ProgramOptions } from "../../core/cli/program.ts";
import { SCHEMA_KEY } from "../../kv/maintenance/migrations.ts";
import { installations } from "../../kv/records/installation.ts";
import { SYSTEM } from "../../kv/store/collection.ts";
import { putRaw } from "../support/raw_rows.ts";
import { START_MS, startMain, startRelayProcess, withFolder } from "../support/processes.ts";

type Env = Readonly<Record<string, string>>;

/** The names that `relay doctor` looks at, in order, of a store that is there. */
const NAMES = [
  "settings",
  "store",
  "integrity",
  "disk",
  "size",
  "clock",
  "schema",
  "secret",
  "jobs",
  "backup",
  "retention",
  "address",
];

/** Runs the doctor; its lines by name. */
async function doctor(env: Env, args: readonly string[] = [], options: ProgramOptions = {}) {
  const program = startMain(["doctor", ...args], { RELAY_PORT: "0", ...env }, options);
  const { code } = await program.ended;
  const found = program.lines.map((line) => /^(ok|note|FAULT) +(\w+) +(.*)$/.exec(line) ?? []);
  const lines = new Map(found.map(([, state, name, text]) => [name, { state, text }]));
  return { code, lines, text: program.lines.join("\n") };
}

/** The one line that tells of a fault. */
async function fault(env: Env): Promise<string> {
  const { code, lines, text } = await doctor(env);
  const faults = [...lines].filter(([, { state }]) => state === "FAULT");
  assert.deepEqual([code, faults.length], [1, 1], text);
  const [name, line] = faults[0]!;
  return `${name}: ${line.text}`;
}

Deno.test("relay doctor: prints ok for each check of a sound relay, running or stopped, and changes nothing", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const { relay, url } = await startRelayProcess(env);
    try {
      const backup = startMain(["backup", `${folder}/backup`], env);
      assert.equal((await backup.ended).code, 0, backup.lines.join("\n"));
      const { code, lines, text } = await doctor({ ...env, RELAY_PORT: new URL(url).port });
      assert.equal(code, 0, text);
      assert.deepEqual([...lines.keys()], NAMES);
      assert.ok([...lines.values()].every(({ state }) => state === "ok"), text);
      assert.match(lines.get("store")!.text!, /a relay serves it$/);
      assert.match(lines.get("address")!.text!, /^a relay answers at 127\.0\.0\.1:\d+$/);
    } finally {
      await relay.stop();
    }
    const [names, bytes] = [[...Deno.readDirSync(folder)], Deno.readFileSync(env.RELAY_KV)];
    const { code, lines, text } = await doctor(env);
    assert.equal(code, 0, text);
    assert.match(lines.get("store")!.text!, /no relay has it open$/);
    assert.deepEqual([...Deno.readDirSync(folder)], names);
    assert.deepEqual(Deno.readFileSync(env.RELAY_KV), bytes);
  });
});

Deno.test("relay doctor: prints one line with what to do for each fault, and exits with 1", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    await (await startRelayProcess(env)).relay.stop();
    const secret = { RELAY_SECRET: "the secret of somebody else" };
    assert.match(
      await fault({ ...env, ...secret }),
      /^secret: .*give the right one in RELAY_SECRET$/,
    );
    Deno.chmodSync(`${folder}/relay.kv.secret`, 0o644);
    assert.match(await fault(env), /^secret: other users can read its file: chmod 600/);
    Deno.chmodSync(`${folder}/relay.kv.secret`, 0o600);

    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response("something else"),
    );
    const RELAY_PORT = `${server.addr.port}`;
    assert.match(
      await fault({ ...env, RELAY_PORT }),
      /^address: another program uses .*:\d+: choose/,
    );
    await server.shutdown();
    assert.match(await fault({ ...env, RELAY_PORT: "x" }), /^settings: RELAY_PORT is "x": give/);
    assert.match(await fault({ ...env, RELAY_HOST: "192.0.2.1" }), /^address: .*RELAY_HOST$/);

    const below = { RELAY_KV: `${folder}/relay.kv.secret/relay.kv` };
    assert.match(await fault(below), /^store: Not a directory.*: run this as .* or see RELAY_KV$/);

    const ahead = new Date(Date.now() + 3_600_000);
    Deno.utimeSync(env.RELAY_KV, ahead, ahead);
    assert.match(await fault(env), /^clock: .*set the clock/);

    const kv = await Deno.openKv(env.RELAY_KV);
    await kv.set(SCHEMA_KEY, 999);
    const newer = { id: "installation", of: "a newer relay" };
    await putRaw(kv, installations, SYSTEM, newer);
    kv.close();
    assert.match(await fault(env), /^schema: .*schema 999, .*: start a newer Relay$/);

    const bytes = Deno.readFileSync(env.RELAY_KV);
    bytes.fill(0x5a, 4096, 3 * 4096);
    Deno.writeFileSync(env.RELAY_KV, bytes);
    assert.match(await fault(env), /^(integrity|store): .*restore.*last backup/);
  });
});

Deno.test("relay doctor --json: one object says whether there is a fault, and lists the findings", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const sound = await doctor(env, ["--json"]);
    const { ok, findings } = JSON.parse(sound.text);
    assert.deepEqual([sound.code, ok, Object.keys(findings[0])], [0, true, [
      "name",
      "state",
      "text",
    ]]);
    const broken = await doctor({ ...env, RELAY_SIGNUP: "x" }, ["--json"]);
    assert.deepEqual([broken.code, JSON.parse(broken.text).ok], [1, false]);
  });
});

Deno.test("relay doctor: reads the newest scheduled backup, and names one that cannot be restored", async () => {
  await withFolder(async (folder) => {
    const backups = `${folder}/backups`;
    const env = {
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify({ backups: { folder: backups } }),
    };
    const { relay } = await startRelayProcess(env);
    await relay.line(/a scheduled backup was taken/, START_MS);
    await relay.stop();
    const sound = await doctor(env);
    assert.match(sound.lines.get("backup")!.text!, /^the newest was taken at 20/);
    assert.equal(sound.lines.get("backup")!.state, "ok");
    const [{ name }] = [...Deno.readDirSync(backups)] as [Deno.DirEntry];
    Deno.truncateSync(`${backups}/${name}/relay.kv`, 4096);
    assert.match(await fault(env), /^backup: the backup .* has the wrong size: /);
    Deno.removeSync(`${backups}/${name}`, { recursive: true });
    // The note beside the store stays: it may be that of a backup elsewhere.
    const none = await doctor(env);
    assert.deepEqual(none.lines.get("backup"), {
      state: "note",
      text: "none is known, one is due every 24 h: the relay takes one at its start",
    });
  });
});

Deno.test("relay doctor: never binds the address", async () => {
  await withFolder(async (folder) => {
    const preload = `${folder}/preload.ts`;
    Deno.writeTextFileSync(preload, `Deno.listen = () => { throw new Error("taken"); };`);
    const port = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const env = { RELAY_KV: ":memory:", RELAY_PORT: `${port.addr.port}` };
    port.close();
    const { code, lines, text } = await doctor(env, [], {
      permissions: ["-A", `--preload=${preload}`],
    });
    assert.equal(code, 0, text);
    assert.match(lines.get("address")!.text!, /^127\.0\.0\.1:\d+ is free$/);
  });
});

Deno.test("relay doctor: a missing store is a note, and wrong arguments are named", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const { code, lines, text } = await doctor(env);
    assert.equal(code, 0, text);
    assert.equal(lines.get("store")!.state, "note");
    assert.equal((await doctor({ RELAY_KV: ":memory:" })).lines.get("store")!.state, "note");
    const remote = { RELAY_KV: "http://127.0.0.1:1", RELAY_SECRET: "a secret long enough" };
    assert.match(await fault(remote), /^store: http:\/\/127\.0\.0\.1:1 does not answer/);
    const wrong = await doctor(env, ["--all"]);
    assert.equal(
      wrong.text,
      'There is no option "--all". Did you mean --json? See: relay doctor --help',
    );
    assert.equal(wrong.code, 2);
    assert.match((await doctor(env, ["--help"])).text, /^relay doctor: /);
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  });
});
