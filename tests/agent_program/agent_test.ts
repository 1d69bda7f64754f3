import { agentCommand } from "../../core/cli/agent/cli.ts";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { RESTART_EXIT_CODE } from "../../core/cli/agent/agent.ts";
import { keyText, signNote, statementText } from "../../core/protocol/checkpoints/note.ts";
import { CLOSE_CODES } from "../../core/protocol/close_codes.ts";
import { MAX_OUTPUT_CHUNK_BYTES } from "../../core/protocol/protocol.ts";
import { privateKeyOf, rawPublicKey } from "../../core/protocol/statements.ts";
import { resultOf, runOf, startAgent, textOf, withLinkedAgent } from "./agent_support.ts";
import { startFakeRelay } from "./fake_relay.ts";

Deno.test("runAgent: hello carries its facts and proves its key, which it keeps", () =>
  withLinkedAgent(async ({ relay, link, agent, stateDir }) => {
    assert.equal(link.hello.agent.name, "box");
    assert.deepEqual(link.hello.agent.labels, { zone: "a" });
    assert.deepEqual(link.hello.running, []);
    assert.equal(Deno.statSync(`${stateDir}/agent-key.json`).mode! & 0o777, 0o600);
    link.close(1000, "");
    const second = await relay.nextLink();
    assert.equal(second.hello.public_key, link.hello.public_key);
    assert.equal(agent.lines[0], `connected to ${relay.url} as box (agt_1)`);
  }));

Deno.test("runAgent: hello names the pinned verdict key, and another pin makes the agent refuse the relay and name the command that trusts it", () =>
  withLinkedAgent(async ({ relay, link, agent, stateDir }) => {
    assert.equal(link.hello.verdict_key, null);
    link.close(1000, "");
    const second = await relay.nextLink();
    second.run(runOf("cmd_1", "true"));
    await second.untilResult("cmd_1");
    const path = `${stateDir}/verdict-key`;
    assert.equal(`${second.hello.verdict_key}\n`, Deno.readTextFileSync(path));
    Deno.writeTextFileSync(path, "what a person mistyped\n");
    for (const name of ["audit-key", "audit-checkpoint"]) {
      Deno.writeTextFileSync(`${stateDir}/${name}`, "of the relay before\n");
    }
    second.close(1000, "");
    assert.equal((await relay.nextLink()).hello.verdict_key, null);
    assert.equal(await agent.exitCode, 1);
    const said = agent.lines.at(-1)!;
    assert.match(
      said,
      /^this agent refuses the relay: its verdict key differs from the pinned one;/,
    );
    assert.equal(Deno.readTextFileSync(path), "what a person mistyped\n");
    const [, command = ""] = /: relay agent (trust --state .*)$/.exec(said) ?? [];
    assert.equal(await agentCommand(["trust", "--state", stateDir, "--key=AAAA"]), 2);
    assert.equal(await agentCommand(command.split(" ")), 0);
    assert.equal(Deno.readTextFileSync(path), `${second.hello.verdict_key}\n`);
    for (const name of ["audit-key", "audit-checkpoint"]) {
      assert.equal(Deno.readTextFileSync(`${stateDir}/${name}`), "");
    }
    const trusting = startAgent(relay.url, stateDir);
    assert.equal((await relay.nextLink()).hello.verdict_key, second.hello.verdict_key);
    await trusting.stop();
  }));

Deno.test("runAgent: a short command is answered by one result frame", () =>
  withLinkedAgent(async ({ link }) => {
    link.run(runOf("cmd_1", "printf hello; printf oops >&2; exit 3"));
    const frames = await link.untilResult("cmd_1");
    assert.equal(frames.length, 1);
    const { duration_ms, verdict, ...result } = resultOf(frames);
    assert.ok(duration_ms >= 0);
    assert.equal(verdict, `${link.hello.nonce}.1`);
    assert.deepEqual(result, {
      type: "result",
      command_id: "cmd_1",
      exit_code: 3,
      signal: null,
      reason: "exited",
      stdout: "hello",
      stderr: "oops",
      truncated: false,
    });
  }));

Deno.test("runAgent: stdin is empty and the credential is not in the environment", () =>
  withLinkedAgent(async ({ link }) => {
    link.run(runOf("cmd_1", 'cat; printf "%s" "${RELAY_TOKEN-none}"'));
    assert.equal(textOf(await link.untilResult("cmd_1"), "stdout"), "none");
  }));

Deno.test("runAgent: long output arrives whole, in order and in bounded pieces", () =>
  withLinkedAgent(async ({ link }) => {
    link.run(runOf("cmd_1", "i=0; while [ $i -lt 20000 ]; do echo é$i; i=$((i+1)); done"));
    const frames = await link.untilResult("cmd_1");
    assert.equal(frames[0]?.type, "started");
    let expected = "";
    for (let i = 0; i < 20_000; i++) expected += `é${i}\n`;
    assert.equal(textOf(frames, "stdout"), expected);
    assert.equal(resultOf(frames).truncated, false);
    for (const frame of frames) {
      if (frame.type !== "output") continue;
      assert.ok(new TextEncoder().encode(frame.data).length <= MAX_OUTPUT_CHUNK_BYTES);
    }
  }));

Deno.test("runAgent: a command that goes on is announced and its output streamed", () =>
  withLinkedAgent(async ({ link, stateDir }) => {
    link.run(runOf("cmd_1", `mkfifo ${stateDir}/go; echo first; cat ${stateDir}/go`));
    assert.deepEqual(await link.next(), { type: "started", command_id: "cmd_1" });
    assert.deepEqual(await link.next(), {
      type: "output",
      command_id: "cmd_1",
      stream: "stdout",
      data: "first\n",
    });
    await Deno.writeTextFile(`${stateDir}/go`, "second\n");
    assert.equal(textOf(await link.untilResult("cmd_1"), "stdout"), "second\n");
  }));

Deno.test("runAgent: output beyond the limit is drained, dropped and called truncated", () =>
  withLinkedAgent(async ({ link }) => {
    const command = "head -c 3000000 /dev/zero | tr '\\0' x; echo done >&2";
    link.run(runOf("cmd_1", command, { max_output_bytes: 40_000 }));
    const frames = await link.untilResult("cmd_1");
    assert.equal(textOf(frames, "stdout"), "x".repeat(40_000));
    assert.equal(textOf(frames, "stderr"), "");
    assert.equal(resultOf(frames).truncated, true);
    assert.equal(resultOf(frames).exit_code, 0);
  }));

Deno.test("runAgent: a timeout ends the whole group, a child that ignores SIGTERM included", () =>
  withLinkedAgent(async ({ link, stateDir }) => {
    const fifo = `${stateDir}/alive`;
    await new Deno.Command("mkfifo", { args: [fifo] }).output();
    const child = `sh -c 'trap "" TERM; exec 3>${fifo}; sleep 300' & wait`;
    link.run(runOf("cmd_1", child, { timeout_ms: 300 }));
    // Opening a FIFO waits for its writer; reading it ends when no process holds it any more.
    const gone = Deno.readTextFile(fifo);
    const result = resultOf(await link.untilResult("cmd_1"));
    assert.equal(result.reason, "timed_out");
    assert.equal(result.exit_code, null);
    assert.equal(result.signal, "SIGTERM");
    assert.equal(await gone, "");
  }));

Deno.test("runAgent: cancel ends the whole group at once", () =>
  withLinkedAgent(async ({ link, stateDir }) => {
    const fifo = `${stateDir}/alive`;
    await new Deno.Command("mkfifo", { args: [fifo] }).output();
    link.run(runOf("cmd_1", `exec 3>${fifo}; sleep 300 & sleep 300`));
    const gone = Deno.readTextFile(fifo);
    assert.equal((await link.next()).type, "started");
    link.send({ type: "cancel", command_id: "cmd_1" });
    assert.equal(resultOf(await link.untilResult("cmd_1")).reason, "cancelled");
    assert.equal(await gone, "");
  }));

Deno.test("runAgent: a grandchild that keeps the pipes open does not hold the result back", () =>
  withLinkedAgent(async ({ link }) => {
    link.run(runOf("cmd_1", "sleep 20 & echo $!"));
    const frames = await link.untilResult("cmd_1");
    const result = resultOf(frames);
    assert.equal(result.reason, "exited");
    assert.equal(result.exit_code, 0);
    Deno.kill(Number(textOf(frames, "stdout")), "SIGKILL");
  }));

Deno.test("runAgent: the result of a command that cannot start names the cause", () =>
  withLinkedAgent(async ({ link }) => {
    link.run(runOf("cmd_1", "echo a\0b"));
    const result = resultOf(await link.untilResult("cmd_1"));
    assert.equal(result.reason, "failed_to_start");
    assert.match(result.stderr ?? "", /nul byte/);
  }));

Deno.test("runAgent: no command runs twice, across a restart of the agent, too", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const run = runOf("cmd_1", `echo once >> ${stateDir}/counter`);
  try {
    const first = startAgent(relay.url, stateDir);
    const firstLink = await relay.nextLink();
    firstLink.run(run);
    await firstLink.untilResult("cmd_1");
    firstLink.run(run);
    const refused = { type: "refused", command_id: "cmd_1", reason: "duplicate" };
    const { message: _, ...again } = await firstLink.next() as typeof refused & { message: string };
    assert.deepEqual(again, refused);
    assert.equal(await first.stop(), 0);
    assert.equal((await firstLink.closed).code, 1000);

    const second = startAgent(relay.url, stateDir);
    const secondLink = await relay.nextLink();
    secondLink.run(run);
    const { message: __, ...later } = await secondLink.next() as typeof refused & {
      message: string;
    };
    assert.deepEqual(later, refused);
    await second.stop();
    assert.equal(await Deno.readTextFile(`${stateDir}/counter`), "once\n");
  } finally {
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("runAgent: it comes back after the relay went away, with the result of meanwhile", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const agent = startAgent(relay.url, stateDir);
  const link = await relay.nextLink();
  link.run(runOf("cmd_1", `mkfifo ${stateDir}/go; cat ${stateDir}/go; echo end`));
  assert.equal((await link.next()).type, "started");
  await relay.stop();
  await Deno.writeTextFile(`${stateDir}/go`, "meanwhile\n");

  const revived = startFakeRelay(relay.port);
  try {
    const second = await revived.nextLink();
    assert.deepEqual(second.hello.running, ["cmd_1"]);
    const frames = await second.untilResult("cmd_1");
    assert.equal(textOf(frames, "stdout"), "meanwhile\nend\n");
    assert.equal(resultOf(frames).exit_code, 0);
    assert.equal(resultOf(frames).truncated, false);
  } finally {
    await agent.stop();
    await revived.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("runAgent: a pin that cannot be read keeps it from linking, and ends no command", () =>
  withLinkedAgent(async ({ relay, link, agent, stateDir }) => {
    link.run(runOf("cmd_1", `mkfifo ${stateDir}/go; cat ${stateDir}/go`));
    assert.equal((await link.next()).type, "started");
    const [pin, aside] = [`${stateDir}/verdict-key`, `${stateDir}/aside`];
    Deno.renameSync(pin, aside);
    Deno.mkdirSync(pin);
    const { promise: told, resolve: tell } = Promise.withResolvers<void>();
    agent.lines.push = (line) => {
      if (line.startsWith("no link to") && line.includes(pin)) tell();
      return 0;
    };
    link.close(CLOSE_CODES.going_away.code, "");
    await told;
    Deno.removeSync(pin);
    Deno.renameSync(aside, pin);
    const second = await relay.nextLink();
    assert.deepEqual(second.hello.running, ["cmd_1"]);
    await Deno.writeTextFile(`${stateDir}/go`, "still here");
    assert.equal(textOf(await second.untilResult("cmd_1"), "stdout"), "still here");
  }));

Deno.test("runAgent: a credential that the handshake refuses ends it with code 1 and the reason", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  try {
    const agent = startAgent(relay.url, stateDir, "wrong");
    assert.equal(await agent.exitCode, 1);
    assert.deepEqual(agent.lines, [
      "the relay refused this agent: HTTP 401 INVALID_API_KEY: The API key is not accepted.",
    ]);
  } finally {
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});

Deno.test("runAgent: a close code of the kind stop ends it with code 1 and the reason", () =>
  withLinkedAgent(async ({ link, agent }) => {
    link.close(4410, "deleted by an administrator");
    assert.equal(await agent.exitCode, 1);
    assert.match(agent.lines.at(-1) ?? "", /deleted \(4410\) deleted by an administrator$/);
  }));

Deno.test("runAgent: restart lets a command end, closes with 1000 and gives code 75", () =>
  withLinkedAgent(async ({ link, agent, stateDir }) => {
    link.run(runOf("cmd_1", `mkfifo ${stateDir}/go; cat ${stateDir}/go`));
    assert.equal((await link.next()).type, "started");
    link.send({ type: "restart" });
    link.run(runOf("cmd_2", "echo no"));
    const refused = await link.next();
    assert.equal(refused.type === "refused" && refused.reason, "stopping");
    await Deno.writeTextFile(`${stateDir}/go`, "done");
    assert.equal(textOf(await link.untilResult("cmd_1"), "stdout"), "done");
    assert.equal((await link.closed).code, 1000);
    assert.equal(await agent.exitCode, RESTART_EXIT_CODE);
  }));

Deno.test("runAgent: stopping kills what runs, sends its result and exits with 0", () =>
  withLinkedAgent(async ({ link, agent }) => {
    link.run(runOf("cmd_1", "sleep 300"));
    assert.equal((await link.next()).type, "started");
    assert.equal(await agent.stop(), 0);
    assert.equal(resultOf(await link.untilResult("cmd_1")).reason, "cancelled");
    assert.equal((await link.closed).code, 1000);
  }));

Deno.test("runAgent: a 65th command at once is refused as busy and may be sent again", () =>
  withLinkedAgent(async ({ link, stateDir }) => {
    await new Deno.Command("mkfifo", { args: [`${stateDir}/go`] }).output();
    for (let i = 0; i < 64; i++) link.run(runOf(`cmd_${i}`, `exec 3<${stateDir}/go; read x <&3`));
    link.run(runOf("cmd_64", "echo late"));
    let frame = await link.next();
    while (frame.type === "started") frame = await link.next();
    assert.equal(frame.type === "refused" && frame.reason, "busy");
    for (let i = 0; i < 64; i++) link.send({ type: "cancel", command_id: `cmd_${i}` });
    for (let results = 0; results < 64;) if ((await link.next()).type === "result") results++;
    link.run(runOf("cmd_64", "echo late"));
    assert.equal(textOf(await link.untilResult("cmd_64"), "stdout"), "late\n");
  }));

Deno.test("runAgent: an unknown frame is ignored, a malformed one closes with 4400 and a new try", () =>
  withLinkedAgent(async ({ relay, link }) => {
    link.sendText('{"type":"from_the_future"}');
    link.run(runOf("cmd_1", "echo still here"));
    assert.equal(textOf(await link.untilResult("cmd_1"), "stdout"), "still here\n");
    link.sendText('{"type":"run"}');
    assert.equal((await link.closed).code, CLOSE_CODES.malformed_frame.code);
    await relay.nextLink();
  }));

Deno.test("runAgent: a checkpoint that cannot be stored ends nothing, and the next one follows it", () =>
  withLinkedAgent(async ({ link, agent, stateDir }) => {
    const privateKey = privateKeyOf(new Uint8Array(32).fill(1));
    const key = { name: "relay/org_1/live", publicKey: rawPublicKey(privateKey) };
    const time = "2030-01-01T00:00:00.000Z";
    const show = (size: number, root: Uint8Array, proof: string[]) => {
      const said = { origin: key.name, size, root, time, expired: 0, selection: null };
      const note = signNote(statementText(said), key, privateKey);
      link.send({ type: "checkpoint", note, public_key: keyText(key), proof });
    };
    const pair = (left: Uint8Array, right: Uint8Array) =>
      createHash("sha256").update("\x01").update(left).update(right).digest();
    const leaf = (n: number) => new Uint8Array(32).fill(n);
    const first = leaf(1), second = leaf(2), third = leaf(3);
    const two = pair(first, second);
    show(1, first, []);
    link.run(runOf("cmd_1", "true"));
    await link.untilResult("cmd_1");
    for (const name of ["audit-key", "audit-checkpoint"]) {
      Deno.mkdirSync(`${stateDir}/${name}.${Deno.pid}.tmp`); // where it is written aside
    }
    show(2, two, [second.toBase64()]);
    show(3, pair(two, third), [third.toBase64()]);
    link.run(runOf("cmd_2", "echo still here"));
    assert.equal(textOf(await link.untilResult("cmd_2"), "stdout"), "still here\n");
    const has = (start: string) => agent.lines.some((line) => line.startsWith(start));
    assert.ok(has("the checkpoint cannot be stored"));
    assert.ok(!has("the relay's audit log contradicts the checkpoint of this agent"));
  }));

Deno.test("runAgent: heartbeats come at the pace of the welcome", async () => {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay(0, 1);
  const agent = startAgent(relay.url, stateDir);
  try {
    assert.deepEqual(await (await relay.nextLink()).next(), { type: "heartbeat", status: "ok" });
  } finally {
    await agent.stop();
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
});
