import assert from "node:assert/strict";
import type { AgentFiles } from "../../core/cli/agent/interfaces.ts";
import { pairMachine } from "../../core/cli/agent/start/pair.ts";
import { runOf, textOf } from "./agent_support.ts";
import { startFakeRelay } from "./fake_relay.ts";
import { ADVICE_TO_ROOT, endOf, startProgram, startWithToken } from "./program_support.ts";

Deno.test("relay agent: runs commands, restarts, and stops at SIGTERM", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const program = startWithToken(["--url", relay.url, "--state", stateDir, "--name", "box"]);
  const output = program.output();
  const died = output.then(({ stderr }) => assert.fail(new TextDecoder().decode(stderr)));
  try {
    const link = await Promise.race([relay.nextLink(), died]);
    link.run(runOf("cmd_1", "echo done"));
    assert.equal(textOf(await link.untilResult("cmd_1"), "stdout"), "done\n");
    link.send({ type: "restart" });
    const second = await Promise.race([relay.nextLink(), died]);
    assert.equal(second.hello.public_key, link.hello.public_key);
    died.catch(() => {});
    program.kill("SIGTERM");
    const { code, stdout, stderr } = await output;
    const line = `connected to ${relay.url} as box (agt_1)\n`;
    assert.equal(new TextDecoder().decode(stdout), line + line);
    assert.equal(new TextDecoder().decode(stderr), ADVICE_TO_ROOT);
    assert.equal(code, 0);
  } finally {
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("relay agent: a command with an altered byte does not run, and is reported", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const program = startWithToken(["--url", relay.url, "--state", stateDir, "--name", "box"]);
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
    const listed = textOf(await second.untilResult("cmd_2"), "stdout");
    assert.deepEqual(listed.match(/m[ao]de|refused\.log/g), ["refused.log"]);
    died.catch(() => {});
    program.kill("SIGTERM");
    const { code, stderr } = await output;
    assert.match(new TextDecoder().decode(stderr), /^error: refused cmd_1: its verdict is not/m);
    assert.equal(code, 0);
  } finally {
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("relay agent: wrong arguments give code 2, a sentence and the way to the help", async () => {
  const cases = [
    [["--url", "ftp://relay"], /The address "ftp:\/\/relay" is not /],
    [["--url", "http://relay"], /The credential is missing/],
    [["--url", "http://relay", "--token-file", "/no/such"], /There is no token file "\/no\/such"/],
    [["--url", "http://relay", "--token", "a b"], /The credential contains invalid characters/],
    [["--url", "http://relay", "--token", "t", "--label", "a b=c"], /The agent's labels/],
    [["--url", "http://relay", "--token", "t", "--token-stdin"], /Give only one of --token, /],
    [["--url", "http://relay", "--token-stdin"], /The credential is missing/],
    [["--verbose"], /There is no option "--verbose"/],
  ] as const;
  for (const [args, sentence] of cases) {
    const { code, stderr: text } = await endOf(startProgram(args));
    assert.equal(code, 2, text);
    assert.match(text, sentence);
    assert.match(text, /^error: .* See: relay agent --help\n$/);
  }
});

Deno.test("relay agent: https to a relay without TLS is explained, also when pairing", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const where = ["--url", relay.url.replace("http:", "https:"), "--state", stateDir];
  try {
    const paired = await startProgram(["pair", "--code", "x", ...where]).output();
    const said = new TextDecoder().decode(paired.stderr);
    assert.match(said, /^error: https:\S+ cannot be reached: .*: give an http:\/\/ address if /);
    assert.equal(paired.code, 1);
    const agent = startWithToken(where);
    let heard = "";
    for await (const text of agent.stderr.pipeThrough(new TextDecoderStream())) {
      heard += text;
      if (/no link .*: give an http:\/\/ address if /.test(heard)) break;
    }
    agent.kill("SIGTERM");
    assert.match(heard, /no link .*: give an http:\/\/ address if /);
    await Promise.all([agent.status, agent.stdout.cancel()]);
  } finally {
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("relay agent: empty variables count as unset, and the stored pairing is used", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  try {
    const pairing = { url: "http://127.0.0.1:1", device_id: "dev_1", credential: "a b" };
    Deno.writeTextFileSync(`${stateDir}/credential.json`, JSON.stringify(pairing));
    const program = startProgram(["--state", stateDir], {
      env: { RELAY_URL: "", RELAY_TOKEN: "", CREDENTIALS_DIRECTORY: "" },
    });
    const { code, stderr } = await endOf(program);
    // It is the paired credential that is looked at.
    assert.match(stderr, /^error: The credential contains invalid characters/);
    assert.equal(code, 2);
  } finally {
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("relay agent: --help names every option and gives code 0", async () => {
  const { code, stdout } = await startProgram(["--help"]).output();
  assert.equal(code, 0);
  for (
    const option of [
      "url",
      "token",
      "token-file",
      "token-stdin",
      "run-as",
      "name",
      "label",
      "state",
      "help",
    ]
  ) {
    assert.match(new TextDecoder().decode(stdout), RegExp(`^  --${option} `, "m"));
  }
});

Deno.test("relay agent pair: a relay's refusal is shown as one line without control characters", async () => {
  const error = { code: "FORBIDDEN", message: "no\x1b]0;\x07\nyes\u2066", details: {} };
  const files = { makeDir: () => {}, read: () => null, write: () => {} } as unknown as AgentFiles;
  const asked = { url: "https://relay.example.com", code: "c", name: "vm", stateDir: "/state" };
  const refuse = () => Promise.resolve(Response.json({ error }, { status: 403 }));
  await assert.rejects(pairMachine(asked, files, refuse), ({ message }: Error) => {
    assert.deepEqual([message, /[\p{Cc}\p{Cf}]/u.test(message)], [message, false]);
    return message.includes("yes");
  });
});
