import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { clientOf, expectStatus } from "../clients/status_client.ts";
import { makeSealer } from "../../core/codec/seal.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";

type Env = Readonly<Record<string, string>>;

const UNLIMITED = JSON.stringify({ plans: { starter: { requests_per_minute: null } } });

async function run(args: readonly string[], env: Env = {}) {
  const program = startMain(args, env);
  const { code } = await program.ended;
  return { code, text: program.lines.join("\n") };
}

/** A store with some secrets in it. */
async function furnish(env: Env, keys = 3): Promise<{ key: string; token: string }> {
  const { relay, url } = await startRelayProcess({ ...env, RELAY_CONFIG: UNLIMITED });
  try {
    const token = await signUpOwner(clientOf(url));
    const owner = clientOf(url, token);
    for (let n = 1; n < keys; n++) await makeKey(owner, ["agents:read"]);
    const key = await makeKey(owner, ["agents:read", "system:write", "audit:read"]);
    const hook = {
      name: "h",
      url: "https://hooks.example.com",
      secret: "sixteen characters",
      events: ["command_executed"],
    };
    expectStatus(await owner("POST", "/api/v1/webhooks", hook), 201, "a webhook");
    return { key, token };
  } finally {
    await relay.stop();
  }
}

/** The relay starts, and what was made before still works: keys, sign-ins, tokens, webhooks. */
async function works(env: Env, { key, token }: { key: string; token: string }): Promise<void> {
  const { relay, url } = await startRelayProcess(env);
  try {
    expectStatus(await clientOf(url, key)("GET", "/api/v1/agents"), 200, "a read by key");
    expectStatus(await clientOf(url, token)("GET", "/api/v1/webhooks"), 200, "a read by JWT");
    const login = { email: "a@example.com", password: "correct horse 7" };
    expectStatus(await clientOf(url)("POST", "/api/v1/login", login), 200, "signing in");
  } finally {
    await relay.stop();
  }
}

async function refused(env: Env): Promise<void> {
  const { code, text } = await run(["serve"], { RELAY_PORT: "0", ...env });
  assert.match(text, /^relay: (RELAY_SECRET is not the one|this store holds texts sealed with)/m);
  assert.equal(code, 1);
}

/** How every text begins that a secret sealed. */
const marked = (secret: string) =>
  makeSealer(secret, { bytes: (n) => new Uint8Array(n) }).seal("", "").slice(
    0,
    "v1.12345678.".length,
  );

/** How often the store's files hold a text, bytes that are no record any more included. */
async function timesInFiles(folder: string, text: string): Promise<number> {
  let times = 0;
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.startsWith("relay.kv") || name.includes(".secret")) continue;
    times += Buffer.from(await Deno.readFile(`${folder}/${name}`)).toString("latin1")
      .split(text).length - 1;
  }
  return times;
}

const secretIn = (folder: string) => Deno.readTextFileSync(`${folder}/relay.kv.secret`).trim();

Deno.test("relay secret rotate: everything keeps working, and the old secret opens no byte of the files", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const made = await furnish(env);
    const old = secretIn(folder);
    assert.ok(await timesInFiles(folder, marked(old)) >= 5);
    const { code, text } = await run(["secret", "rotate"], env);
    assert.equal(code, 0, text);
    assert.match(text, /^api_keys: 3 examined, 3 resealed$/m);
    assert.ok(!text.includes(old) && !text.includes(secretIn(folder)), "a secret was printed");
    assert.notEqual(secretIn(folder), old);
    assert.equal(Deno.statSync(`${folder}/relay.kv.secret`).mode! & 0o777, 0o600);
    assert.deepEqual([...Deno.readDirSync(folder)].filter(({ name }) => /next|new/.test(name)), []);
    assert.equal(await timesInFiles(folder, marked(old)), 0);
    assert.ok(await timesInFiles(folder, marked(secretIn(folder))) >= 6);
    await works(env, made);
    await refused({ ...env, RELAY_SECRET: old });
  });
});

Deno.test("relay secret rotate: after a kill the relay starts, and another run completes the rotation", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const made = await furnish(env, 200);
    const old = secretIn(folder);
    for (const line of [/^Created the next secret/, /^api_keys: /, /^webhooks: /]) {
      const program = startMain(["secret", "rotate"], env);
      await program.line(line, START_MS);
      await program.kill();
      await works(env, made);
    }
    assert.equal((await run(["secret", "rotate"], env)).code, 0);
    await works(env, made);
    assert.equal(await timesInFiles(folder, marked(old)), 0);
    await refused({ ...env, RELAY_SECRET: old });
  });
});

Deno.test("relay secret rotate: with settings, both secrets work until it has run, then only the new one", async () => {
  await withFolder(async (folder) => {
    const [old, fresh] = ["the first secret, long enough", "the second secret, as long"];
    const at = { RELAY_KV: `${folder}/relay.kv` };
    const made = await furnish({ ...at, RELAY_SECRET: old });
    const overlap = {
      ...at,
      RELAY_SECRET: fresh,
      RELAY_SECRET_OLD: "nothing is sealed with this",
      RELAY_SECRET_OLD_2: old,
    };
    await refused({ ...at, RELAY_SECRET: fresh });
    await works(overlap, made);
    await refused({ ...at, RELAY_SECRET: old });
    await refused({ ...at, RELAY_SECRET: fresh });
    const early = await run(["secret", "rotate"], { ...at, RELAY_SECRET: fresh });
    assert.deepEqual([early.code, /^relay: RELAY_SECRET_OLD is not set/.test(early.text)], [
      1,
      true,
    ]);
    const { code, text } = await run(["secret", "rotate"], overlap);
    assert.equal(code, 0, text);
    await works({ ...at, RELAY_SECRET: fresh }, made);
    await refused({ ...at, RELAY_SECRET: old });
    assert.equal(await timesInFiles(folder, marked(old)), 0);
  });
});

Deno.test("relay secret: wrong arguments are named and exit with 2, and nothing is made", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    for (const args of [["rotate", "--force"], ["rotate", "now"], ["--quick"], ["turn"], []]) {
      const { code, text } = await run(["secret", ...args], env);
      assert.match(
        text,
        /^(There is no option "[\w-]+"|Unexpected argument "now"|Say what to do: .*)\. See: relay secret --help$/,
      );
      assert.equal(code, 2);
    }
    for (const args of [["--help"], ["rotate", "--help"]]) {
      const { code, text } = await run(["secret", ...args], env);
      assert.match(text, /^relay secret rotate: /);
      assert.equal(code, 0);
    }
    const { code, text } = await run(["secret", "rotate"], env);
    assert.deepEqual([code, text], [
      1,
      `relay: there is no store at ${folder}/relay.kv: set RELAY_KV to its path`,
    ]);
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  });
});

Deno.test("relay secret rotate: does not touch a store that a relay has open", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const { relay } = await startRelayProcess(env);
    const old = secretIn(folder);
    try {
      const { code, text } = await run(["secret", "rotate"], env);
      assert.match(text, /^relay: another Relay has the store .*: stop it, /);
      assert.equal(code, 1);
      assert.equal(secretIn(folder), old);
    } finally {
      await relay.stop();
    }
  });
});
