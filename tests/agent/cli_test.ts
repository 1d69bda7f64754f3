import assert from "node:assert/strict";
import { fakeToken, startFakeRelay } from "./fake_relay.ts";
import { resultOf, runOf } from "./agent_support.ts";

const PROGRAM = new URL("./agent_program.ts", import.meta.url).href;

/** Starts `relay agent` in a process of its own. */
function startProgram(args: string[], env: Record<string, string> = {}) {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROGRAM, ...args],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

Deno.test("relay agent: runs commands without the token around, restarts, and stops at SIGTERM", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const program = startProgram(["--url", relay.url, "--state", stateDir, "--name", "box"], {
    RELAY_TOKEN: fakeToken,
  });
  const output = program.output();
  const died = output.then(({ stderr }) => assert.fail(new TextDecoder().decode(stderr)));
  try {
    const link = await Promise.race([relay.nextLink(), died]);
    link.run(runOf("cmd_1", 'echo "[$RELAY_TOKEN]"'));
    assert.equal(resultOf(await link.untilResult("cmd_1")).stdout, "[]\n");
    link.send({ type: "restart" });
    const second = await Promise.race([relay.nextLink(), died]);
    assert.equal(second.hello.public_key, link.hello.public_key);
    died.catch(() => {});
    program.kill("SIGTERM");
    const { code, stdout, stderr } = await output;
    const line = `connected to ${relay.url} as box (agt_1)\n`;
    assert.equal(new TextDecoder().decode(stdout), line + line);
    assert.equal(new TextDecoder().decode(stderr), "");
    assert.equal(code, 0);
  } finally {
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("relay agent: a command with a changed byte does not run, and the program says so", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const program = startProgram(["--url", relay.url, "--state", stateDir, "--name", "box"], {
    RELAY_TOKEN: fakeToken,
  });
  const output = program.output();
  const died = output.then(({ stderr }) => assert.fail(new TextDecoder().decode(stderr)));
  try {
    const link = await Promise.race([relay.nextLink(), died]);
    const frame = JSON.stringify(link.signed([runOf("cmd_1", `touch ${stateDir}/made`)]));
    link.sendText(frame.replace("/made", "/mode"));
    const refused = await link.next();
    assert.equal(refused.type === "refused" && refused.reason, "unverified");
    const second = await Promise.race([relay.nextLink(), died]);
    second.run(runOf("cmd_2", `ls ${stateDir}`));
    const listed = resultOf(await second.untilResult("cmd_2")).stdout ?? "";
    assert.deepEqual(listed.match(/m[ao]de|refused\.log/g), ["refused.log"]);
    died.catch(() => {});
    program.kill("SIGTERM");
    const { code, stderr } = await output;
    assert.match(new TextDecoder().decode(stderr), /^error: refused cmd_1: its verdict is not/);
    assert.equal(code, 0);
  } finally {
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("relay agent: wrong arguments give code 2, a sentence and the way to the help", async () => {
  const cases = [
    [["--url", "ftp://relay"], /The URL "ftp:\/\/relay" is not /],
    [["--url", "http://relay"], /The credential is missing/],
    [["--url", "http://relay", "--token-file", "/no/such"], /There is no token file "\/no\/such"/],
    [["--url", "http://relay", "--token", "a b"], /The credential holds characters/],
    [["--url", "http://relay", "--token", "t", "--label", "a b=c"], /The agent's labels/],
    [["--verbose"], /There is no option "--verbose"/],
  ] as const;
  for (const [args, sentence] of cases) {
    const { code, stderr } = await startProgram([...args]).output();
    const text = new TextDecoder().decode(stderr);
    assert.equal(code, 2, text);
    assert.match(text, sentence);
    assert.match(text, /^error: .* See: relay agent --help\n$/);
  }
});

Deno.test("relay agent: https where the relay speaks none is told with what to do, also when it pairs", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const where = ["--url", relay.url.replace("http:", "https:"), "--state", stateDir];
  try {
    const paired = await startProgram(["pair", "--code", "x", ...where]).output();
    const said = new TextDecoder().decode(paired.stderr);
    assert.match(said, /^error: https:\S+ cannot be reached: .*: give an http:\/\/ address where /);
    assert.equal(paired.code, 1);
    const agent = startProgram(where, { RELAY_TOKEN: fakeToken });
    const [{ value }] = await Promise.all([agent.stderr.getReader().read(), agent.stdout.cancel()]);
    agent.kill("SIGTERM");
    assert.match(new TextDecoder().decode(value), /no link .*: give an http:\/\/ address where /);
    await agent.status;
  } finally {
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("relay agent: what is set to nothing is not set, and a pairing counts", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  try {
    const pairing = { url: "http://127.0.0.1:1", device_id: "dev_1", credential: "a b" };
    Deno.writeTextFileSync(`${stateDir}/credential.json`, JSON.stringify(pairing));
    const program = startProgram(["--state", stateDir], { RELAY_URL: "", RELAY_TOKEN: "" });
    const { code, stderr } = await program.output();
    // It is the paired credential that is looked at.
    assert.match(new TextDecoder().decode(stderr), /^error: The credential holds characters/);
    assert.equal(code, 2);
  } finally {
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("relay agent: --help names every option and gives code 0", async () => {
  const { code, stdout } = await startProgram(["--help"]).output();
  assert.equal(code, 0);
  for (const option of ["url", "token", "token-file", "name", "label", "state", "help"]) {
    assert.match(new TextDecoder().decode(stdout), RegExp(`^  --${option} `, "m"));
  }
});
