import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { clientOf } from "../clients/status_client.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  TLS_ENV,
  withFolder,
} from "../support/processes.ts";

/** Runs a command to its end. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const program = startMain(args, env);
  const { code } = await program.ended;
  return { code, text: program.lines.join("\n") };
}

Deno.test("relay help: names every command and fits a screen; relay serve --help names the settings", async () => {
  const { code, text } = await run(["help"]);
  assert.equal(code, 0, text);
  for (const name of ["serve", "agent", "demo", "version", "login", "exec"]) {
    assert.match(text, new RegExp(`^  ${name} `, "m"));
  }
  assert.ok(text.split("\n").length <= 48, text);
  const { text: settings } = await run(["serve", "--help"]);
  for (const name of ["RELAY_PORT", "RELAY_CONFIG"]) {
    assert.match(settings, new RegExp(`^  ${name} `, "m"));
  }
});

Deno.test("relay: a misspelt command gets a suggestion", async () => {
  const { code, text } = await run(["approvls"]);
  assert.equal(code, 2);
  assert.ok(
    text.startsWith('There is no command "approvls". Did you mean relay approvals?\n'),
    text,
  );
});

Deno.test("relay help: with a command's name prints that command's help, also after npm's --", async () => {
  const { code, text } = await run(["help", "backup"]);
  assert.deepEqual([code, text], [0, (await run(["backup", "--", "--help"])).text]);
  assert.match(text, /^relay backup: /);
});

Deno.test("relay version: one line with the version and the commit", async () => {
  assert.match(
    (await run(["version"])).text,
    /^relay \d+\.\d+\.\d+ \(commit ([0-9a-f]{12}|unknown)\)$/,
  );
});

Deno.test("relay: an unknown command is named, with the help, and exits with 2", async () => {
  for (const name of ["nonsense", "toString", "-x"]) {
    const { code, text } = await run([name]);
    assert.equal(code, 2);
    assert.ok(text.startsWith(`There is no command "${name}".\n\nRelay `), text);
  }
});

Deno.test("relay demo: an unknown option is named and exits with 2", async () => {
  const { code, text } = await run(["demo", "--loud"]);
  assert.equal(code, 2);
  assert.equal(text, 'There is no option "--loud". See: relay demo --help');
});

Deno.test("relay serve: prints the first steps until the first signup", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const first = await startRelayProcess(env);
    const [, said] = await first.relay.line(/^\s+relay (login \S.+)$/, START_MS);
    const words = said!.replace("<organization>", "A").split(" ");
    const login = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "main.ts", ...words],
      env: { XDG_CONFIG_HOME: folder },
      stdin: "piped",
      stdout: "null",
    }).spawn();
    const input = login.stdin.getWriter();
    await input.write(new TextEncoder().encode("correct horse\n"));
    await input.close();
    assert.equal((await login.status).code, 0);
    await first.relay.kill();
    const again = await startRelayProcess(env);
    await again.relay.line(/^\s+signup /, START_MS);
    await again.relay.kill();
    assert.ok(!again.relay.lines.join("\n").includes("signed up"));
  });
});

Deno.test("relay serve: a wrong setting is named in one sentence and exits with 1", async () => {
  const wrong: readonly (readonly [name: string, value: string, sentence: RegExp])[] = [
    ["RELAY_PORT", "abc", /^relay: RELAY_PORT is "abc": give a number from 0 to 65535$/],
    ["RELAY_PUBLIC_URL", "x", /^relay: RELAY_PUBLIC_URL is "x": give an http or https address /],
    ["RELAY_PUBLIC_URL", "https://a.example/relay", /RELAY_PUBLIC_URL is .* without a path$/],
    ["RELAY_SIGNUP", "yes", /^relay: RELAY_SIGNUP is "yes": give open, invite or closed$/],
    [
      "RELAY_CONFIG",
      '{"limit":{}}',
      /^relay: The configuration in RELAY_CONFIG is invalid: .*limit/,
    ],
    [
      "RELAY_TLS_CERT",
      "cert.pem",
      /^relay: set both RELAY_TLS_CERT and RELAY_TLS_KEY, or neither$/,
    ],
    ["RELAY_KV", "https://kv.example.com", /^relay: RELAY_SECRET is not set: /],
    ["RELAY_KV", "redis://u:pass@kv/0", /^relay: RELAY_KV begins with "redis:\/\/": give a path, /],
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

Deno.test("relay serve: a store that cannot be opened is named in one sentence, and nothing is made", async () => {
  await withFolder(async (folder) => {
    const noStore = `${folder}/note.txt`;
    Deno.mkdirSync(`${folder}/data`);
    Deno.writeTextFileSync(noStore, "no store, but as long as the head of one".repeat(20));
    const unwritable = `${folder}/data/relay.kv`;
    await (await startRelayProcess({ RELAY_KV: unwritable })).relay.stop();
    await Deno.remove(`${unwritable}-shm`).catch(() => {}); // a process that ends leaves it now and then
    Deno.mkdirSync(`${unwritable}-shm`); // where nobody can write, not even root
    const wrong: readonly (readonly [path: string, why: RegExp])[] = [
      [`${folder}/data`, /it is a folder: name a file in it, such as .*\/data\/relay\.kv\. Check/],
      [noStore, /file is not a database\. Check RELAY_KV and the disk of the store$/],
      ["/dev/null/relay.kv", /\. Check RELAY_KV and the disk of the store$/],
      [unwritable, /open '.*relay\.kv-shm'\. Check RELAY_KV and the disk of the store$/],
    ];
    for (const [path, why] of wrong) {
      const { code, text } = await run(["serve"], { RELAY_KV: path });
      assert.ok(text.startsWith(`relay: the store ${path} cannot be opened: `), text);
      assert.match(text, why);
      assert.equal(code, 1);
    }
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "data",
      "note.txt",
      "note.txt.lock",
    ]);
  });
});

Deno.test("relay serve: an unreachable database server is named in one sentence, without its password", async () => {
  const { code, text } = await run(["serve"], {
    RELAY_KV: "http://user:hid'den@127.0.0.1:1/",
    RELAY_SECRET: "long enough for a test",
    DENO_KV_ACCESS_TOKEN: "token",
  });
  assert.match(
    text,
    /^relay: the store cannot be opened: .*127\.0\.0\.1:1.*: see RELAY_KV and DENO/,
  );
  assert.equal(/hid|'den/.test(text), false, text);
  assert.equal(code, 1);
});

Deno.test("relay serve: a certificate and key that do not match are named, and relay doctor finds them", async () => {
  await withFolder(async (folder) => {
    const RELAY_TLS_KEY = TLS_ENV.RELAY_TLS_KEY.replace("localhost.key", "services.key");
    const env = { ...TLS_ENV, RELAY_TLS_KEY, RELAY_KV: `${folder}/relay.kv`, RELAY_PORT: "0" };
    const { code, text } = await run(["serve"], env);
    assert.match(text, /Check RELAY_TLS_CERT, RELAY_TLS_KEY and RELAY_HOST\.$/m);
    assert.equal(code, 1);
    const doctor = await run(["doctor"], env);
    assert.match(
      doctor.text,
      /^FAULT +certificate +RELAY_TLS_CERT and RELAY_TLS_KEY do not match: /m,
    );
    assert.equal(doctor.code, 1);
  });
});

Deno.test("relay serve: a store whose secret is lost is not given another one", async () => {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    const { relay } = await startRelayProcess(env);
    await relay.stop();
    Deno.renameSync(`${folder}/relay.kv.secret`, `${folder}/kept`);
    const { code, text } = await run(["serve"], env);
    assert.match(
      text,
      /^relay: the secret of the store .* is not here: put .*relay\.kv\.secret back/,
    );
    assert.equal(code, 1);
    assert.equal([...Deno.readDirSync(folder)].some(({ name }) => name.includes("secret")), false);
    Deno.renameSync(`${folder}/kept`, `${folder}/relay.kv.secret`);
    await (await startRelayProcess(env)).relay.stop();
  });
});

Deno.test("relay serve: empty variables count as unset", async () => {
  const { url, relay } = await startRelayProcess({
    RELAY_KV: ":memory:",
    RELAY_HOST: "",
    RELAY_SECRET: "",
    RELAY_SECRET_OLD: "",
    RELAY_TLS_CERT: "",
    RELAY_PUBLIC_URL: "",
    RELAY_SIGNUP: "",
    RELAY_CONFIG: "",
  });
  assert.equal(new URL(url).hostname, "127.0.0.1");
  await relay.stop();
});

Deno.test("relay: every command warns about a misspelt variable and goes on", async () => {
  const { relay } = await startRelayProcess({ RELAY_KV: ":memory:", RELAY_PROT: "9999" });
  await relay.stop();
  const said = relay.lines.filter((line) => line.includes("did you mean RELAY_PORT?"));
  assert.deepEqual(said.map((line) => JSON.parse(line).level), ["warn"]);
  const { text, code } = await run(["agent"], { RELAY_TOKN: "hidden" });
  assert.match(text, /^warning: "RELAY_TOKN" is not a variable .*: did you mean RELAY_TOKEN\?$/m);
  assert.equal(code, 2);
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

Deno.test("relay serve: a stop that could not record everything is reported and exits with 1", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({ RELAY_KV: `${folder}/relay.kv` });
    const key = await makeKey(clientOf(url, await signUpOwner(clientOf(url))), ["agents:read"]);
    using file = new DatabaseSync(`${folder}/relay.kv`);
    file.exec("BEGIN IMMEDIATE"); // nobody else writes until it is closed
    assert.equal((await clientOf(url, key)("GET", "/api/v1/agents")).status, 503);
    Deno.kill(relay.pid, "SIGTERM");
    assert.equal((await relay.ended).code, 1);
    assert.match(
      relay.lines.join("\n"),
      /"not everything could be recorded during the stop: check /,
    );
  });
});

Deno.test("relay serve: a port in use is named in one sentence and exits with 1", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({ RELAY_KV: `${folder}/one.kv` });
    try {
      const env = { RELAY_KV: `${folder}/two.kv`, RELAY_PORT: new URL(url).port };
      const { code, text } = await run(["serve"], env);
      assert.match(
        text,
        /^relay: cannot listen on 127\.0\.0\.1:\d+: .* Check RELAY_HOST and RELAY_PORT\.$/m,
      );
      assert.equal(code, 1);
    } finally {
      await relay.stop();
    }
  });
});

Deno.test("relay serve: refuses to start with a wrong RELAY_SECRET, and continues with the right one", async () => {
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
