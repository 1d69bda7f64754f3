import assert from "node:assert/strict";
import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";
import { openFile } from "../../kv/maintenance/file.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import {
  makeKey,
  signUpOwner,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";

type Env = Readonly<Record<string, string>>;

const SCOPES = ["agents:read", "audit:read", "audit:write", "system:read", "system:write"];
const CONFIG = JSON.stringify(NO_LIMITS);
/** Callers that change things at once. */
const CALLERS = 6;
/** So many changes are acknowledged before the backup begins, and after it. */
const CHANGES = 150;

/** A change, and when its answer was here, by the clock that both processes have. */
interface Acknowledged {
  readonly what: "key" | "event";
  /** The key's value, or the event's id. */
  readonly made: string;
  readonly atMs: number;
}

interface Row {
  readonly seq: number;
  readonly event_id: string;
  readonly event_type: string;
}

async function run(args: readonly string[], env: Env = {}) {
  const program = startMain(args, env);
  const { code } = await program.ended;
  return { code, text: program.lines.join("\n") };
}

/** Callers that make keys and register events until they are told to stop. */
function startLoad(client: Client) {
  const acknowledged: Acknowledged[] = [];
  const waiting: { at: number; resolve: () => void }[] = [];
  let going = true;
  const note = (what: Acknowledged["what"], made: string) => {
    acknowledged.push({ what, made, atMs: Date.now() });
    for (const { at, resolve } of waiting) if (acknowledged.length >= at) resolve();
  };
  const ended = Promise.all(Array.from({ length: CALLERS }, async (_, caller) => {
    while (going) {
      if (caller % 2 === 0) note("key", await makeKey(client, ["agents:read"]));
      else {
        const body = { event_type: "deployed", details: { caller } };
        const answer = await client<{ event_id: string }>("POST", "/api/audit/event", body);
        note("event", expectStatus(answer, 201, "registering an event").event_id);
      }
    }
  }));
  return {
    acknowledged,
    /** Resolves when so many more changes are acknowledged. */
    async more(n: number): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ at: acknowledged.length + n, resolve });
      await Promise.race([promise, ended]);
    },
    async stop(): Promise<void> {
      going = false;
      await ended;
    },
  };
}

async function trailOf(client: Client): Promise<string[]> {
  const answer = await client<string>("GET", "/api/audit/export", undefined, {
    accept: "application/x-ndjson",
  });
  // The last line is the checkpoint.
  return expectStatus(answer, 200, "the export").trimEnd().split("\n").slice(0, -1);
}

const rowOf = (line: string) => JSON.parse(line) as Row;

const lastBackup = async (client: Client) =>
  expectStatus(await client<{ last_backup_at: string | null }>("GET", "/health"), 200, "health")
    .last_backup_at;

Deno.test("relay backup: under load, the restored store has everything acknowledged before its instant, including log and keys", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv`, RELAY_CONFIG: CONFIG };
    const { relay, url } = await startRelayProcess(env);
    let lastShown: string | null = null;
    let key = "", owner = "", trail: string[] = [], acknowledged: readonly Acknowledged[] = [];
    try {
      owner = await signUpOwner(clientOf(url));
      key = await makeKey(clientOf(url, owner), SCOPES);
      const load = startLoad(clientOf(url, key));
      await load.more(CHANGES);
      const { code, text } = await run(["backup", `${folder}/backups/one`], env);
      assert.equal(code, 0, text);
      lastShown = await lastBackup(clientOf(url, owner));
      await load.more(CHANGES);
      await load.stop();
      acknowledged = load.acknowledged;
      trail = await trailOf(clientOf(url, key));
    } finally {
      await relay.stop();
    }
    const manifest = JSON.parse(Deno.readTextFileSync(`${folder}/backups/one/manifest.json`));
    assert.equal(lastShown, manifest.taken_at, "the relay shows the backup");
    const takenAtMs = Date.parse(manifest.taken_at);
    const before = acknowledged.filter(({ atMs }) => atMs < takenAtMs);
    assert.ok(before.length >= CHANGES && before.length < acknowledged.length - CHANGES / 2);

    // Another machine: an empty folder, the backup, and the secret from where that was kept.
    Deno.mkdirSync(`${folder}/new`);
    Deno.copyFileSync(`${folder}/relay.kv.secret`, `${folder}/new/relay.kv.secret`);
    const there = { ...env, RELAY_KV: `${folder}/new/relay.kv` };
    const restored = await run(["restore", `${folder}/backups/one`], there);
    assert.equal(restored.code, 0, restored.text);
    const again = await startRelayProcess(there);
    try {
      const client = clientOf(again.url, key);
      const lines = await trailOf(client);
      lines.forEach((line, at) => assert.equal(rowOf(line).seq, at + 1));
      const at = lines.findIndex((line) => rowOf(line).event_type === "backup_restored");
      assert.ok(at > CHANGES, "the restored log does not say that it was restored");
      assert.deepEqual(lines.slice(0, at), trail.slice(0, at), "the log is the one of then");
      const rows = new Set(lines.map((line) => rowOf(line).event_id));
      for (const { what, made } of before) {
        if (what === "event") assert.ok(rows.has(made), `event ${made} is missing`);
        else expectStatus(await clientOf(again.url, made)("GET", "/api/v1/agents"), 200, made);
      }
      assert.equal(await lastBackup(clientOf(again.url, owner)), null, "of the restored store");
      // It goes on: what was signed in stays so, and changes are taken.
      expectStatus(await clientOf(again.url, owner)("GET", "/api/v1/api-keys"), 200, "the JWT");
      await makeKey(client, ["agents:read"]);
      const login = { email: "a@example.com", password: "correct horse 7" };
      expectStatus(await clientOf(again.url)("POST", "/api/v1/login", login), 200, "signing in");
    } finally {
      await again.relay.stop();
    }
  });
});

Deno.test("relay restore: a truncated backup is refused with one sentence, and the next good one is restored", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv`, RELAY_SECRET: "a secret of enough characters" };
    const { relay } = await startRelayProcess(env);
    await relay.stop();
    const permissions = [
      "--no-prompt",
      "--allow-read",
      "--allow-write",
      "--allow-env",
      "--allow-sys",
    ];
    const narrow = startMain(["backup", `${folder}/good`], env, { permissions });
    assert.equal((await narrow.ended).code, 1);
    assert.match(narrow.lines.join("\n"), /was not copied: .*: start it with `deno run -A`/);
    const made = await run(["backup", `${folder}/good/`], env);
    assert.equal(made.code, 0, made.text);
    assert.match(
      made.text,
      /^The backup does not hold the secret: keep a copy of RELAY_SECRET in another/m,
    );
    Deno.mkdirSync(`${folder}/cut`);
    for (const name of ["manifest.json", "relay.kv"]) {
      Deno.copyFileSync(`${folder}/good/${name}`, `${folder}/cut/${name}`);
    }
    Deno.truncateSync(`${folder}/cut/relay.kv`, 8192);
    const there = { ...env, RELAY_KV: `${folder}/new/relay.kv` };
    const cut = await run(["restore", `${folder}/cut`], there);
    assert.deepEqual([cut.code, cut.text.split("\n").length], [1, 1]);
    assert.match(
      cut.text,
      /^relay: the backup .*cut has the wrong size: relay\.kv has 8192 bytes, /,
    );
    const foreign = { ...there, RELAY_SECRET: "the secret of somebody else" };
    const refused = await run(["restore", `${folder}/good`], foreign);
    assert.match(refused.text, /^relay: the backup .*good was sealed with another secret: /);
    assert.equal(refused.code, 1);
    assert.throws(() => Deno.statSync(`${folder}/new/relay.kv`), Deno.errors.NotFound);
    assert.equal((await run(["restore", `${folder}/good`], there)).code, 0);
    const again = await startRelayProcess(there);
    try {
      const twice = await run(["restore", `${folder}/good`], there);
      assert.match(twice.text, /^relay: .*relay\.kv exists: give the path of a new store/);
      assert.equal(twice.code, 1);
      const busy = await run(["compact"], there);
      assert.match(busy.text, /^relay: another Relay has the store .*: stop it, /);
      assert.equal(busy.code, 1);
    } finally {
      await again.relay.stop();
    }
    const compacted = await run(["compact"], there);
    assert.match(compacted.text, /relay\.kv: \d+ bytes before, \d+ bytes now$/);
    assert.equal(compacted.code, 0);
  });
});

/** Starts a command and kills it when so many things have happened to the files in a folder. */
async function killAtChange(n: number, folder: string, args: readonly string[], env: Env) {
  const watcher = Deno.watchFs(folder);
  const program = startMain(args, env);
  const ended = program.ended.then(() => watcher.close());
  let left = n;
  for await (const _ of watcher) if (--left === 0) await program.kill();
  await ended;
}

Deno.test("relay restore, relay backup: after a kill their result is complete or absent", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv`, RELAY_SECRET: "a secret of enough characters" };
    const { relay } = await startRelayProcess(env);
    await relay.stop();
    const kv = await Deno.openKv(env.RELAY_KV);
    for (let n = 0; n < 300; n++) await kv.set(["weight", n], new Uint8Array(50_000).fill(n));
    kv.close();
    const weight = (path: string) => {
      using file = openFile(path);
      return [file.faults(), file.heads(["weight"], 1_000).length];
    };
    const whole = [[], 300];
    const isThere = (path: string) => {
      try {
        return Deno.statSync(path).size > 0;
      } catch {
        return false;
      }
    };

    Deno.mkdirSync(`${folder}/backups`);
    for (const n of [1, 3]) {
      await killAtChange(n, `${folder}/backups`, ["backup", `${folder}/backups/${n}`], env);
      if (isThere(`${folder}/backups/${n}`)) {
        assert.deepEqual(weight(`${folder}/backups/${n}/relay.kv`), whole);
      }
    }
    const good = `${folder}/backups/good`;
    assert.equal((await run(["backup", good], env)).code, 0);

    let cut = 0;
    for (const n of [2, 10, 30, 60]) {
      Deno.mkdirSync(`${folder}/new${n}`);
      const there = { ...env, RELAY_KV: `${folder}/new${n}/relay.kv` };
      await killAtChange(n, `${folder}/new${n}`, ["restore", good], there);
      if (!isThere(there.RELAY_KV)) {
        cut++;
        assert.equal((await run(["restore", good], there)).code, 0, `killed at change ${n}`);
      }
      assert.deepEqual(weight(there.RELAY_KV), whole, `killed at change ${n}`);
    }
    console.log(`${cut} of 4 restores were cut off`);
  });
});

Deno.test("relay backup, restore, compact: wrong arguments and stores are named, and nothing is made", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const cases: [args: string[], code: number, sentence: RegExp, env?: Env][] = [
      [["backup"], 2, /^Name one folder: relay backup <folder>\. See: relay backup --help$/],
      [["restore"], 2, /^Name one folder: relay restore <folder>\./],
      [["restore", "a", "b"], 2, /^Unexpected argument "b"\./],
      [
        ["backup", "--now"],
        2,
        /^There is no option "--now"\. Did you mean --keep\? See: relay backup --help$/,
      ],
      [["backup", "--keep", "7", "b"], 2, /^The duration "7" is none such as 12h, 7d or 4w\. See/],
      [["compact", "now"], 2, /^Unexpected argument "now"\. See: relay compact --help$/],
      [["restore", "--help"], 0, /^relay restore: /],
      [["backup", `${folder}/b`], 1, /^relay: there is no store at .*: set RELAY_KV to its path$/],
      [["restore", `${folder}/b`], 1, /^relay: there is no folder .*\/b$/],
      [["restore", folder], 1, /^relay: there is no secret: give it in RELAY_SECRET/],
      [["backup", `${folder}/b`], 1, /^relay: RELAY_KV names a store in memory/, {
        RELAY_KV: ":memory:",
      }],
      [["backup", `${folder}/b`], 1, /^relay: RELAY_KV names a database server/, {
        RELAY_KV: "https://kv.example.com",
        RELAY_SECRET: "a secret of enough characters",
      }],
    ];
    const answers = await Promise.all(
      cases.map(([args, , , other]) => run(args, other ?? env)),
    );
    cases.forEach(([args, code, sentence], at) => {
      assert.match(answers[at]!.text, sentence);
      assert.equal(answers[at]!.code, code, args.join(" "));
    });
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  });
});
