import { runAgent } from "../../core/cli/agent/agent.ts";
import { machineHost } from "../../core/cli/agent/host.ts";
import type { AgentFiles } from "../../core/cli/agent/interfaces.ts";
import type { Cancel, Clock } from "../../core/ports/ports.ts";
import type { Ended } from "../../core/cli/agent/outbox.ts";
import type { CommandOrder } from "../../core/protocol/protocol.ts";
import {
  type FakeLink,
  type FakeRelay,
  fakeToken,
  type Seen,
  startFakeRelay,
} from "./fake_relay.ts";

/** An agent on the real machine that writes its log lines down. */
export interface TestAgent {
  readonly exitCode: Promise<number>;
  readonly lines: string[];
  stop(): Promise<number>;
}

/** Starts an agent of this process against a relay. */
export function startAgent(url: string, stateDir: string, token = fakeToken): TestAgent {
  const controller = new AbortController();
  const lines: string[] = [];
  const write = (message: string) => void lines.push(message);
  const host = { ...machineHost, log: { info: write, warn: write, error: write } };
  const options = { url, token, stateDir, name: "box", labels: { zone: "a" } };
  const exitCode = runAgent({ ...options, signal: controller.signal }, host);
  return {
    exitCode,
    lines,
    stop() {
      controller.abort();
      return exitCode;
    },
  };
}

/** What a test of a linked agent has at hand. */
export interface Linked {
  readonly relay: FakeRelay;
  readonly link: FakeLink;
  readonly agent: TestAgent;
  readonly stateDir: string;
}

/** Links an agent with a fake relay, runs the test and takes everything down again. */
export async function withLinkedAgent(test: (linked: Linked) => Promise<void>): Promise<void> {
  const stateDir = await Deno.makeTempDir({ prefix: "relay-agent-" });
  const relay = startFakeRelay();
  const agent = startAgent(relay.url, stateDir);
  try {
    await test({ relay, link: await relay.nextLink(), agent, stateDir });
  } finally {
    await agent.stop();
    await relay.stop();
    await Deno.remove(stateDir, { recursive: true });
  }
}

/** An order with room for everything unless said otherwise. */
export function runOf(
  command_id: string,
  command: string,
  limits: { timeout_ms?: number; max_output_bytes?: number } = {},
): CommandOrder {
  const { timeout_ms = 60_000, max_output_bytes = 1_048_576 } = limits;
  return { command_id, command, timeout_ms, max_output_bytes, policy_version: "p1" };
}

/** The result at the end of a command's frames. */
export function resultOf(frames: readonly Seen[]): Ended {
  const last = frames.at(-1);
  if (last?.type !== "result") throw new Error(`the last frame is ${last?.type}`);
  return last;
}

/** All that a command wrote to one stream, in order. */
export function textOf(frames: readonly Seen[], stream: "stdout" | "stderr"): string {
  let text = "";
  for (const frame of frames) {
    if (frame.type === "output" && frame.stream === stream) text += frame.data;
    if (frame.type === "result") text += frame[stream] ?? "";
  }
  return text;
}

/** A clock that stands still until it is moved. */
export interface HandClock extends Clock {
  /** Moves on and runs what became due, in order. */
  move(ms: number): void;
}

export function openHandClock(): HandClock {
  let now = 1_700_000_000_000;
  let timers: { at: number; task: () => void }[] = [];
  function after(ms: number, task: () => void): Cancel {
    const timer = { at: now + ms, task };
    timers.push(timer);
    return () => void (timers = timers.filter((other) => other !== timer));
  }
  return {
    now: () => now,
    monotonic: () => now,
    after,
    sleep: (ms) => new Promise((resolve) => after(ms, resolve)),
    move(ms) {
      const until = now + ms;
      for (;;) {
        const due = timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        timers = timers.filter((timer) => timer !== due);
        now = due.at;
        due.task();
      }
      now = until;
    },
  };
}

/** Files in memory; `full` makes appends fail as a full disk does. */
export function openMemoryFiles() {
  const texts = new Map<string, string>();
  const disk = { full: false };
  const files: AgentFiles = {
    makeDir() {},
    read: (path) => texts.get(path) ?? null,
    write: (path, text) => void texts.set(path, text),
    openAppender: (path) => ({
      append(text) {
        // What there is room for is written.
        texts.set(path, (texts.get(path) ?? "") + (disk.full ? text.slice(0, 2) : text));
        if (disk.full) throw new Error("no space left");
      },
      close() {},
    }),
  };
  return { files, texts, disk };
}
