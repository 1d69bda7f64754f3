import { createHash, type Hash } from "node:crypto";
import { type Cancel, type Clock, within } from "../../../ports/ports.ts";
import type { CommandOrder } from "../../../protocol/protocol.ts";
import type { AgentHost, ChildProcess, ProcessEnd } from "../interfaces.ts";
import { cutOutput, type Stream } from "./output.ts";
import type { Ended, Outbox } from "../outbox.ts";

/** A command that runs this long is announced. */
const ANNOUNCE_MS = 100;
/** A command's first output is delayed this long: one that ends sooner sends only its result frame. */
const FIRST_FLUSH_MS = 25;
/** The least time between two flushes of later output. */
const FLUSH_MS = 20;
/** The time from SIGTERM to SIGKILL. */
const KILL_AFTER_MS = 2_000;
/** The time that a pipe is read after the command has ended, while a grandchild keeps it open. */
const DRAIN_MS = 500;
/** The polling interval of process groups and of a slow link. */
const POLL_MS = 50;

/** A started command. */
export interface RunningCommand {
  /** Kills the whole process group; the result says `cancelled`. */
  cancel(): void;
  /** Resolves when the result is posted. Never rejects. */
  readonly done: Promise<void>;
  /** Resolves when no process of the group is left. Never rejects. */
  readonly gone: Promise<void>;
}

/** Starts a command in its own process group and posts its output and its one result. */
export function startCommand(
  order: CommandOrder,
  verdict: string,
  host: AgentHost,
  outbox: Outbox,
): RunningCommand {
  const { clock } = host;
  const { command_id } = order;
  const startedAt = clock.now();
  let child: ChildProcess;
  try {
    child = host.spawn(order.command);
  } catch (error) {
    const why = error instanceof Error ? error.message.slice(0, 1024) : "the shell did not start";
    outbox.post(failedToStart(command_id, verdict, why));
    return { cancel() {}, done: Promise.resolve(), gone: Promise.resolve() };
  }

  const digests: Partial<Record<Stream, Hash>> = {};
  let reason: Ended["reason"] = "exited";
  let killing: Promise<void> | undefined;
  let announced = false;
  let lostOutput = false;
  let outputEpoch: number | undefined;
  let ended = false;
  const cancelAnnouncement = clock.after(ANNOUNCE_MS, announce);
  /** Set while output waits for its flush. */
  let cancelFlush: Cancel | undefined;
  let flushedAt: number | undefined;
  const cancelTimeout = clock.after(order.timeout_ms, () => kill("timed_out"));
  const output = cutOutput(order.max_output_bytes, (stream, data) => {
    announce();
    outputEpoch ??= outbox.epoch;
    if (outbox.post({ type: "output", command_id, stream, data })) {
      (digests[stream] ??= createHash("sha256")).update(data);
    } else lostOutput = true;
  });

  function announce() {
    if (!announced) outbox.post({ type: "started", command_id });
    announced = true;
  }

  function flush() {
    cancelFlush = undefined;
    flushedAt = clock.now();
    output.flush();
  }

  function feed(stream: Stream, bytes: Uint8Array) {
    output.feed(stream, bytes);
    cancelFlush ??= clock.after(flushDelayMs(), flush);
  }

  /** Output after a pause leaves at once, together with what is read in the same turn of the event loop. */
  function flushDelayMs() {
    if (flushedAt === undefined) return FIRST_FLUSH_MS;
    const sinceMs = clock.now() - flushedAt;
    return sinceMs >= 0 && sinceMs < FLUSH_MS ? FLUSH_MS - sinceMs : 0;
  }

  function kill(why: "timed_out" | "cancelled") {
    if (ended || killing !== undefined) return;
    reason = why;
    killing = killGroup(child, clock);
  }

  async function finish() {
    const pipes = [
      openPump(child.stdout, (bytes) => feed("stdout", bytes), outbox, clock),
      openPump(child.stderr, (bytes) => feed("stderr", bytes), outbox, clock),
    ];
    const end = await child.ended;
    const drained = Promise.all(pipes.map((pipe) => pipe.done));
    let graceMs = DRAIN_MS;
    while (await within(clock, POLL_MS, drained) === null) {
      if (!outbox.isCongested()) graceMs -= POLL_MS;
      if (graceMs <= 0) { for (const pipe of pipes) pipe.stop(); }
    }
    ended = true;
    cancelFlush?.();
    cancelAnnouncement();
    cancelTimeout();
    outbox.post(result(end, output.finish()));
  }

  function result(end: ProcessEnd, tail: Record<Stream, string>): Ended {
    const crossedLinks = outputEpoch !== undefined && outputEpoch !== outbox.epoch;
    return {
      type: "result",
      command_id,
      verdict,
      exit_code: end.code,
      signal: end.signal,
      reason,
      duration_ms: Math.max(0, clock.now() - startedAt),
      ...(tail.stdout === "" ? {} : { stdout: tail.stdout }),
      ...(tail.stderr === "" ? {} : { stderr: tail.stderr }),
      ...(digests.stdout && { stdout_sha256: digests.stdout.update(tail.stdout).digest("hex") }),
      ...(digests.stderr && { stderr_sha256: digests.stderr.update(tail.stderr).digest("hex") }),
      truncated: output.truncated || lostOutput || crossedLinks,
    };
  }

  const done = finish();
  return { cancel: () => kill("cancelled"), done, gone: done.then(() => killing) };
}

/** The result of a command that was not started. */
export function failedToStart(command_id: string, verdict: string, stderr: string): Ended {
  return {
    type: "result",
    command_id,
    verdict,
    exit_code: null,
    signal: null,
    reason: "failed_to_start",
    duration_ms: 0,
    stderr,
    truncated: false,
  };
}

/** Sends SIGTERM to the group, and SIGKILL to what is left of it 2 s later. */
async function killGroup(child: ChildProcess, clock: Clock): Promise<void> {
  child.kill("SIGTERM");
  for (let waitedMs = 0; waitedMs < KILL_AFTER_MS; waitedMs += POLL_MS) {
    await clock.sleep(POLL_MS);
    if (!child.groupAlive()) return;
  }
  child.kill("SIGKILL");
}

/** Reads a pipe to its end, pausing while the relay is slow. `stop` abandons the pipe. */
function openPump(
  stream: ReadableStream<Uint8Array>,
  feed: (bytes: Uint8Array) => void,
  outbox: Outbox,
  clock: Clock,
): { done: Promise<void>; stop(): void } {
  const reader = stream.getReader();
  let stopped = false;

  async function pump() {
    while (!stopped) {
      if (outbox.isCongested()) {
        await clock.sleep(POLL_MS);
        continue;
      }
      const { value, done } = await reader.read();
      if (done) return;
      feed(value);
    }
  }

  return {
    // A broken pipe has ended, too.
    done: pump().catch(() => {}),
    stop() {
      stopped = true;
      reader.cancel().catch(() => {});
    },
  };
}
