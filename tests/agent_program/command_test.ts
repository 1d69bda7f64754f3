import assert from "node:assert/strict";
import { openCommands } from "../../core/cli/agent/commands/commands.ts";
import { startCommand } from "../../core/cli/agent/commands/command.ts";
import { machineHost } from "../../core/cli/agent/host.ts";
import { openJournal } from "../../core/cli/agent/commands/journal.ts";
import { type CommandFrame, openOutbox, type Outbox } from "../../core/cli/agent/outbox.ts";
import type { AgentHost, ProcessEnd } from "../../core/cli/agent/interfaces.ts";
import { openHandClock, openMemoryFiles, runOf } from "./agent_support.ts";

const VERDICT = `${"n".repeat(24)}.1`;

/** A process of which the test plays every part. */
function openPuppet() {
  const clock = openHandClock();
  const ended = Promise.withResolvers<ProcessEnd>();
  const pipe = () => {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    let pulls = 0;
    const stream = new ReadableStream<Uint8Array>({
      start: (given) => void (controller = given),
      pull: () => void pulls++,
    }, { highWaterMark: 0 });
    return { stream, pulls: () => pulls, controller: () => controller ?? assert.fail("no pipe") };
  };
  const [stdout, stderr] = [pipe(), pipe()];
  const signals: string[] = [];
  const group = { alive: true };
  const host: AgentHost = {
    ...machineHost,
    clock,
    log: { info() {}, warn() {}, error() {} },
    spawn: () => ({
      stdout: stdout.stream,
      stderr: stderr.stream,
      ended: ended.promise,
      kill: (signal) => void signals.push(signal),
      groupAlive: () => group.alive,
    }),
  };
  return { clock, host, stdout, stderr, ended, signals, group };
}

/** An outbox that keeps what is posted where the test can read it. */
function openTray(clock: AgentHost["clock"]): Outbox & { frames: CommandFrame[] } {
  const frames: CommandFrame[] = [];
  const outbox = openOutbox(clock, () => "signature");
  return {
    frames,
    get epoch() {
      return outbox.epoch;
    },
    post: (frame) => void frames.push(frame) === undefined,
    flush: outbox.flush,
    attach: outbox.attach,
    heard: outbox.heard,
    detach: outbox.detach,
    isCongested: outbox.isCongested,
    unsettled: outbox.unsettled,
  };
}

/** Lets everything that is already decided happen. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("startCommand: SIGKILL follows SIGTERM after 2 s only while the group exists", async () => {
  for (const [alive, expected] of [[true, ["SIGTERM", "SIGKILL"]], [false, ["SIGTERM"]]] as const) {
    const { clock, host, signals, group } = openPuppet();
    startCommand(runOf("c", "x", { timeout_ms: 500 }), VERDICT, host, openTray(clock));
    clock.move(499);
    assert.deepEqual(signals, []);
    group.alive = alive;
    for (let ms = 0; ms < 2_500; ms += 50) {
      clock.move(50);
      await settle();
    }
    assert.deepEqual(signals, expected);
  }
});

Deno.test("startCommand: pauses reading pipes while the relay is slow, and loses nothing", async () => {
  const { clock, host, stdout, stderr, ended } = openPuppet();
  const tray = openTray(clock);
  const socket = { bufferedAmount: 5_000_000, send() {}, close() {} };
  tray.attach(socket, "agt_1");
  const { done } = startCommand(runOf("c", "x"), VERDICT, host, tray);
  stdout.controller().enqueue(new TextEncoder().encode("kept"));
  stdout.controller().close();
  stderr.controller().close();
  ended.resolve({ code: 0, signal: null });
  for (let ms = 0; ms < 5_000; ms += 50) {
    clock.move(50);
    await settle();
  }
  assert.equal(tray.frames.some(({ type }) => type === "result"), false);
  socket.bufferedAmount = 0;
  clock.move(50);
  await done;
  const result = tray.frames.find((frame) => frame.type === "result");
  assert.equal(result?.stdout, "kept");
  assert.equal(result?.truncated, false);
});

Deno.test("startCommand: a result whose output spans two links is marked truncated", async () => {
  const { clock, host, stdout, stderr, ended } = openPuppet();
  const tray = openTray(clock);
  const { done } = startCommand(runOf("c", "x"), VERDICT, host, tray);
  stdout.controller().enqueue(new TextEncoder().encode("first"));
  await settle();
  clock.move(100);
  tray.detach();
  stdout.controller().close();
  stderr.controller().close();
  ended.resolve({ code: 0, signal: null });
  await done;
  assert.deepEqual(tray.frames.map(({ type }) => type), ["started", "output", "result"]);
  assert.equal(tray.frames[2]?.type === "result" && tray.frames[2].truncated, true);
});

Deno.test("startCommand: output leaves 25 ms after the first, at once after a pause, and else every 20 ms", async () => {
  const { clock, host, stdout, stderr, ended } = openPuppet();
  const tray = openTray(clock);
  const { done } = startCommand(runOf("c", "x"), VERDICT, host, tray);
  const sent = () => tray.frames.flatMap((frame) => frame.type === "output" ? [frame.data] : []);
  const print = async (text: string) => {
    stdout.controller().enqueue(new TextEncoder().encode(text));
    await settle();
  };
  await print("one ");
  clock.move(24);
  assert.deepEqual(tray.frames, []);
  clock.move(1);
  assert.deepEqual(sent(), ["one "]);
  await print("two ");
  await print("three ");
  clock.move(19);
  assert.deepEqual(sent(), ["one "]);
  clock.move(1);
  assert.deepEqual(sent(), ["one ", "two three "]);
  clock.move(30);
  await print("four");
  clock.move(0);
  assert.deepEqual(sent(), ["one ", "two three ", "four"]);
  stdout.controller().close();
  stderr.controller().close();
  ended.resolve({ code: 0, signal: null });
  await done;
});

Deno.test("openCommands: no command starts when the journal cannot be written", () => {
  const { clock, host } = openPuppet();
  const { files, disk } = openMemoryFiles();
  const tray = openTray(clock);
  const commands = openCommands(host, openJournal("s", files), tray);
  disk.full = true;
  commands.run(runOf("c", "x"), VERDICT);
  assert.deepEqual(commands.running(), []);
  assert.equal(commands.health(), "error");
  const [frame] = tray.frames;
  assert.equal(frame?.type === "result" && frame.reason, "failed_to_start");
  disk.full = false;
  commands.run(runOf("c", "x"), VERDICT);
  assert.deepEqual(commands.running(), ["c"]);
  assert.equal(commands.health(), "ok");
});
