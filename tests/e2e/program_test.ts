import assert from "node:assert/strict";
import { startMain, startRelayProcess, withFolder } from "../support/processes.ts";

/** Runs a command to its end. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const program = startMain(args, env);
  const { code } = await program.ended;
  return { code, text: program.lines.join("\n") };
}

Deno.test("relay help: names every command and setting", async () => {
  const { code, text } = await run(["help"]);
  assert.equal(code, 0, text);
  for (const name of ["serve", "agent", "demo", "version", "RELAY_PORT", "RELAY_CONFIG"]) {
    assert.match(text, new RegExp(`^  ${name} `, "m"));
  }
});

Deno.test("relay version: one line with the version", async () => {
  assert.match((await run(["version"])).text, /^relay \d+\.\d+\.\d+$/);
});

Deno.test("relay: an unknown command is named, with the help, and code 2", async () => {
  const { code, text } = await run(["nonsense"]);
  assert.equal(code, 2);
  assert.match(text, /^There is no command "nonsense"\.\n\nRelay /);
});

Deno.test("relay demo: an unknown option is named, with code 2", async () => {
  const { code, text } = await run(["demo", "--loud"]);
  assert.equal(code, 2);
  assert.equal(text, 'There is no option "--loud". See: relay demo --help');
});

Deno.test("relay serve: a wrong setting is one sentence that names it, and code 1", async () => {
  const wrong: readonly (readonly [name: string, value: string, sentence: RegExp])[] = [
    ["RELAY_PORT", "abc", /^relay: RELAY_PORT is "abc": give a number from 0 to 65535$/],
    ["RELAY_PUBLIC_URL", "x", /^relay: RELAY_PUBLIC_URL is "x": give an http or https address$/],
    ["RELAY_SIGNUP", "yes", /^relay: RELAY_SIGNUP is "yes": give open, invite or closed$/],
    ["RELAY_CONFIG", '{"limit":{}}', /^relay: RELAY_CONFIG is invalid: .*limit/],
    [
      "RELAY_TLS_CERT",
      "cert.pem",
      /^relay: set both RELAY_TLS_CERT and RELAY_TLS_KEY, or neither$/,
    ],
    ["RELAY_KV", "https://kv.example.com", /^relay: RELAY_SECRET is not set: /],
  ];
  await withFolder(async (folder) => {
    for (const [name, value, sentence] of wrong) {
      const { code, text } = await run(["serve"], {
        RELAY_KV: `${folder}/relay.kv`,
        [name]: value,
      });
      assert.match(text, sentence);
      assert.equal(code, 1, name);
    }
    assert.deepEqual([...Deno.readDirSync(folder)], [], "nothing was made");
  });
});

Deno.test("relay serve: a second process on one store is refused, and the first goes on", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const { relay, url } = await startRelayProcess(env);
    try {
      const { code, text } = await run(["serve"], { ...env, RELAY_PORT: "0" });
      assert.match(text, /^relay: another Relay has the store .*relay\.kv open: stop it, /);
      assert.equal(code, 1);
      assert.deepEqual(await (await fetch(`${url}/healthz`)).json(), { status: "ok" });
    } finally {
      assert.equal((await relay.stop()).code, 0);
    }
  });
});

Deno.test("relay serve: a port in use is a sentence, and code 1", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({ RELAY_KV: `${folder}/one.kv` });
    try {
      const env = { RELAY_KV: `${folder}/two.kv`, RELAY_PORT: new URL(url).port };
      const { code, text } = await run(["serve"], env);
      assert.match(
        text,
        /^relay: cannot listen on 127\.0\.0\.1:\d+: .* Look at RELAY_HOST and RELAY_PORT\.$/m,
      );
      assert.equal(code, 1);
    } finally {
      await relay.stop();
    }
  });
});

Deno.test("relay serve: a wrong RELAY_SECRET refuses to start, the right one goes on", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const first = await startRelayProcess({
      ...env,
      RELAY_SECRET: "the first secret, long enough",
    });
    await first.relay.stop();
    const { code, text } = await run(["serve"], {
      ...env,
      RELAY_SECRET: "another secret, as long",
    });
    assert.match(text, /^relay: RELAY_SECRET is not the one that this store was made with/m);
    assert.equal(code, 1);
    const again = await startRelayProcess({
      ...env,
      RELAY_SECRET: "the first secret, long enough",
    });
    await again.relay.stop();
  });
});
