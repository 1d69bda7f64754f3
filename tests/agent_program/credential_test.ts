import assert from "node:assert/strict";
import { findOpenState } from "../../core/cli/agent/start/state_modes.ts";
import { systemTree } from "../../core/cli/agent/tree.ts";
import { withFolder } from "../support/processes.ts";
import { runOf, textOf } from "./agent_support.ts";
import { type FakeLink, fakeToken, startFakeRelay } from "./fake_relay.ts";
import { ADVICE_TO_ROOT, endOf, startProgram } from "./program_support.ts";

const ROOT = Deno.uid() === 0;
/** A user without rights that every Unix has. */
const USER = "nobody";

/** Links a real agent with a fake relay, and answers what the test makes of it and what the agent wrote. */
async function withAgent(
  { args = [], env = {}, input = "" }: {
    args?: readonly string[];
    env?: Record<string, string>;
    input?: string;
  },
  use: (run: (command: string) => Promise<string>, stateDir: string) => Promise<void>,
): Promise<string> {
  return await withFolder(async (folder) => {
    const relay = startFakeRelay();
    const stateDir = `${folder}/relay-agent`;
    const where = ["--url", relay.url, "--state", stateDir, "--name", "box"];
    const program = startProgram([...where, ...args], { env, input });
    const ended = endOf(program);
    try {
      const link: FakeLink = await Promise.race([
        relay.nextLink(),
        ended.then(({ stderr }) => assert.fail(stderr)),
      ]);
      let count = 0;
      await use(async (command) => {
        const id = `cmd_${++count}`;
        link.run(runOf(id, command));
        const frames = await link.untilResult(id);
        return textOf(frames, "stdout") + textOf(frames, "stderr");
      }, stateDir);
    } finally {
      program.kill("SIGTERM");
      await ended;
      await relay.stop();
    }
    return (await ended).stderr;
  });
}

const withoutAdvice = (said: string) => said.replace(ADVICE_TO_ROOT, "");

Deno.test("relay agent: a credential from a file, the standard input or systemd leaves no trace in its process", async () => {
  await withFolder(async (folder) => {
    Deno.writeTextFileSync(`${folder}/token`, `${fakeToken}\n`, { mode: 0o600 });
    Deno.writeTextFileSync(`${folder}/relay-token`, fakeToken, { mode: 0o600 });
    const ways = [
      { args: ["--token-file", `${folder}/token`] },
      { args: ["--token-stdin"], input: `${fakeToken}\nand more` },
      { env: { CREDENTIALS_DIRECTORY: folder } },
    ];
    for (const way of ways) {
      const said = await withAgent(way, async (run) => {
        const seen = await run("cat /proc/$PPID/environ /proc/$PPID/cmdline; env");
        assert.match(seen, /PATH=/);
        assert.equal(seen.includes(fakeToken), false);
      });
      assert.equal(withoutAdvice(said), "");
    }
  });
});

Deno.test("relay agent: RELAY_TOKEN and --token work, and a warning says who can read them", async () => {
  const byVariable = await withAgent({ env: { RELAY_TOKEN: fakeToken } }, async (run) => {
    assert.match(await run("tr '\\0' '\\n' < /proc/$PPID/environ"), RegExp(fakeToken));
  });
  assert.match(byVariable, /^warning: every command .* can read RELAY_TOKEN in \/proc\/<pid>\/env/);
  const byOption = await withAgent({ args: ["--token", fakeToken] }, async (run) => {
    assert.match(await run("cat /proc/$PPID/cmdline"), RegExp(fakeToken));
  });
  assert.match(byOption, /^warning: every command .* can read --token in the list of processes: /);
});

Deno.test("relay agent: commands get none of the agent's own variables", async () => {
  const env = {
    RELAY_TOKEN: fakeToken,
    RELAY_URL: "http://127.0.0.1:1",
    RELAY_KEY: "svc_live_x",
    CREDENTIALS_DIRECTORY: "/run/credentials/none",
    KEPT: "yes",
  };
  await withAgent({ env }, async (run) => {
    const names = (await run("env")).split("\n").map((line) => line.split("=")[0]!);
    assert.deepEqual(names.filter((name) => /RELAY|CREDENTIALS/.test(name)), []);
    assert.ok(names.includes("KEPT"));
  });
});

Deno.test("relay agent: warns about a state directory or token file that others can use, with the remedy", async () => {
  await withFolder(async (folder) => {
    const stateDir = `${folder}/relay-agent`;
    Deno.mkdirSync(stateDir);
    Deno.chmodSync(stateDir, 0o755);
    Deno.writeTextFileSync(`${stateDir}/credential.json`, "{}");
    Deno.chmodSync(`${stateDir}/credential.json`, 0o640);
    Deno.writeTextFileSync(`${folder}/token`, fakeToken);
    Deno.chmodSync(`${folder}/token`, 0o644);
    const relay = startFakeRelay();
    const where = ["--url", relay.url, "--state", stateDir, "--token-file", `${folder}/token`];
    const program = startProgram(where);
    const ended = endOf(program);
    await Promise.race([relay.nextLink(), ended]);
    program.kill("SIGTERM");
    const { stderr } = await ended;
    await relay.stop();
    const remedy = `chmod -R go= ${stateDir}`;
    const line =
      `other users may read or change ${stateDir}, ${stateDir}/credential.json: ${remedy}`;
    assert.ok(stderr.includes(`warning: ${line}\n`), stderr);
    assert.match(stderr, /^warning: other users can read the token file: chmod 600 \S+token$/m);
    const made = [...Deno.readDirSync(stateDir)].map(({ name }) => name)
      .filter((name) => name !== "credential.json");
    assert.ok(made.includes("agent-key.json") && made.includes("verdict-key"));
    for (const name of made) {
      assert.equal(Deno.statSync(`${stateDir}/${name}`).mode! & 0o777, 0o600, name);
    }
  });
});

Deno.test("findOpenState: its remedy closes the directory, and a stored program still starts", async () => {
  await withFolder(async (stateDir) => {
    Deno.chmodSync(stateDir, 0o755);
    Deno.writeTextFileSync(`${stateDir}/program-1`, "#!/bin/sh\n");
    Deno.chmodSync(`${stateDir}/program-1`, 0o755);
    const { remedy } = findOpenState(stateDir, Deno.uid(), systemTree)!;
    await new Deno.Command("sh", { args: ["-c", remedy] }).output();
    assert.equal(findOpenState(stateDir, Deno.uid(), systemTree), null);
    assert.ok((await new Deno.Command(`${stateDir}/program-1`).output()).success);
  });
});

Deno.test("relay agent: makes a state directory that only its owner can enter", async () => {
  await withAgent({ args: ["--token-stdin"], input: fakeToken }, (_run, stateDir) => {
    assert.equal(Deno.statSync(stateDir).mode! & 0o777, 0o700);
    return Promise.resolve();
  });
});

Deno.test({
  name: "relay agent --run-as (needs root): commands run as that user and reach no credential",
  ignore: !ROOT,
  fn: async () => {
    const way = { args: ["--run-as", USER], env: { RELAY_TOKEN: fakeToken } };
    const said = await withAgent(way, async (run, stateDir) => {
      // Without this the folder of the test would keep the user out.
      Deno.chmodSync(`${stateDir}/..`, 0o755);
      assert.equal(await run("id -un"), `${USER}\n`);
      assert.equal(await run("id -G"), await run("id -g"), "no group of root's is left");
      assert.match(await run('echo "$USER $LOGNAME $HOME"; pwd'), RegExp(`^${USER} ${USER} /`));
      const denied = [
        `cat ${stateDir}/agent-key.json`,
        `ls ${stateDir}`,
        `echo x > ${stateDir}/verdict-key`,
        `mv ${stateDir} ${stateDir}2`,
        "cat /proc/$PPID/environ",
        "ls /proc/$PPID/fd",
        "head -c 1 /proc/$PPID/mem",
        "kill -9 $PPID",
      ];
      for (const command of denied) {
        const output = await run(`${command}; echo "code $?"`);
        assert.match(output, /denied|not permitted/i, command);
        assert.doesNotMatch(output, RegExp(`code 0|${fakeToken}`), command);
      }
    });
    assert.equal(said, "");
  },
});

Deno.test({
  name:
    "relay agent --run-as (needs root): refuses users and state directories that protect nothing",
  ignore: !ROOT,
  fn: async () => {
    await withFolder(async (folder) => {
      const stateDir = `${folder}/relay-agent`;
      const start = (...args: string[]) => {
        const where = ["--url", "http://127.0.0.1:1", "--state", stateDir, "--token-stdin"];
        return endOf(startProgram([...where, ...args], { input: fakeToken }));
      };
      for (const name of ["no-such-user", "a;id", "-u"]) {
        const { code, stderr } = await start(`--run-as=${name}`);
        assert.match(stderr, /^error: This machine has no user ".*": create one, .*useradd/);
        assert.equal(code, 2);
      }
      assert.match((await start("--run-as", "root")).stderr, /"root" is root: name one with fewer/);
      Deno.mkdirSync(stateDir);
      Deno.chmodSync(stateDir, 0o755);
      const wide = await start("--run-as", USER);
      assert.match(wide.stderr, /^error: .*, so commands might too: chmod -R go= /);
      Deno.chmodSync(stateDir, 0o700);
      Deno.chownSync(stateDir, 65534, 65534);
      const foreign = await start("--run-as", USER);
      assert.match(foreign.stderr, /^error: another user owns .*: chown -R 0 /);
      assert.deepEqual([wide.code, foreign.code], [1, 1]);
      assert.deepEqual([...Deno.readDirSync(stateDir)], [], "nothing was written");
    });
  },
});

Deno.test({
  name: "relay agent --run-as (needs another user than root): says that only root may",
  ignore: ROOT,
  fn: async () => {
    const where = ["--url", "http://127.0.0.1:1", "--token-stdin", "--run-as", USER];
    const { code, stderr } = await endOf(startProgram(where, { input: fakeToken }));
    assert.match(stderr, /^error: Only root may run commands as another user: /);
    assert.equal(code, 2);
  },
});
