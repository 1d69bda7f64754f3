import { isRemote } from "../../kv/maintenance/location.ts";
import { writeAll } from "../../kv/maintenance/disk.ts";
import { readSettings, type Settings } from "../context/context.ts";
import { type Clock, type Log, systemClock, systemLog } from "../ports/ports.ts";
import { onStopSignal } from "./process.ts";
import { UsageError } from "./arguments.ts";
import { programArguments, V8_FLAGS } from "./program.ts";

const INSTANCES_MIN = 2;
const INSTANCES_MAX = 16;
/** The first restart of an instance waits this long; each further one twice as long as the one before. */
const RESTART_MIN_MS = 1_000;
const RESTART_MAX_MS = 30_000;
/** An instance that ran this long has recovered: its next restart waits for the shortest time again. */
const RECOVERED_MS = 60_000;

/** A process that runs `relay serve`. */
export interface InstanceProcess {
  readonly pid: number;
  /** Resolves to true when it serves, and to false when it has ended before. */
  readonly ready: Promise<boolean>;
  /** Resolves to its exit code. */
  readonly ended: Promise<number>;
}

/** What the supervisor of instances works with. */
export interface Supervised {
  readonly count: number;
  /** Starts an instance; only the first one prints how to reach the relay. Ends it when `stop` is aborted. */
  readonly launch: (first: boolean, stop: AbortSignal) => InstanceProcess;
  readonly stop: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/** Reads the value of `--instances`. @throws {UsageError} */
export function instanceCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,2}$/.test(text) && count >= INSTANCES_MIN && count <= INSTANCES_MAX) return count;
  throw new UsageError(
    `--instances is ${
      JSON.stringify(text)
    }: give a number from ${INSTANCES_MIN} to ${INSTANCES_MAX}.`,
  );
}

/** Runs `relay serve --instances` until it is stopped; resolves to the exit code. @throws {Error} that says what to change */
export async function serveInstances(count: number): Promise<number> {
  const settings = readSettings(Deno.env.toObject(), (path) => Deno.readTextFileSync(path), false);
  checkShared(settings, Deno.build.os);
  const stop = new AbortController();
  const forget = onStopSignal(() => stop.abort());
  const parts = { launch, stop: stop.signal, clock: systemClock, log: systemLog };
  const code = await supervise({ count, ...parts });
  forget();
  return code;
}

/** @throws {Error} when several processes cannot share the store or the port of these settings */
export function checkShared({ kv, port }: Pick<Settings, "kv" | "port">, os: string): void {
  if (os !== "linux") {
    throw new Error(
      `--instances needs Linux: ${os} does not spread the connections of one port over processes. ` +
        "Start each instance with a port of its own and put a proxy in front of them",
    );
  }
  if (kv === null || !isRemote(kv)) {
    throw new Error(
      `--instances needs a store that processes can share, and RELAY_KV is ${kv}, which belongs to ` +
        "one process. Start a denokv server, set RELAY_KV to its address (such as " +
        "http://127.0.0.1:4512) and DENO_KV_ACCESS_TOKEN to its access token",
    );
  }
  if (port === 0) {
    throw new Error("--instances needs one port for all: set RELAY_PORT to a number above 0");
  }
}

/**
 * Keeps instances running until `stop` is aborted. Resolves to 0 when each ended well then, else to the exit code of
 * one that did not. When the first one ends before it serves, the others are not started.
 */
export async function supervise({ count, launch, stop, clock, log }: Supervised): Promise<number> {
  const first = launch(true, stop);
  if (!await announced(first)) return await first.ended;
  const stopped = new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener("abort", () => resolve());
  });
  const others = Array.from({ length: count - 1 }, another);
  const codes = await Promise.all([first, ...others].map(keep));
  return codes.find((code) => code !== 0) ?? 0;

  /** Replaces an instance whenever it ends. */
  async function keep(instance: InstanceProcess): Promise<number> {
    for (let failures = 0;;) {
      const startedMs = clock.now();
      const code = await instance.ended;
      if (stop.aborted) return code;
      failures = clock.now() - startedMs < RECOVERED_MS ? failures + 1 : 1;
      const delayMs = restartDelayMs(failures);
      const { pid } = instance;
      log.warn("an instance ended and will be replaced", { pid, code, delay_ms: delayMs });
      await Promise.race([clock.sleep(delayMs), stopped]);
      if (stop.aborted) return 0;
      instance = another();
    }
  }

  function another(): InstanceProcess {
    const instance = launch(false, stop);
    announced(instance);
    return instance;
  }

  async function announced({ pid, ready }: InstanceProcess): Promise<boolean> {
    const serves = await ready;
    if (serves) log.info("an instance serves", { pid });
    return serves;
  }
}

/** The delay before an instance is replaced that has ended `failures` times in a row. */
export const restartDelayMs = (failures: number): number =>
  Math.min(RESTART_MAX_MS, RESTART_MIN_MS * 2 ** (failures - 1));

function launch(first: boolean, stop: AbortSignal): InstanceProcess {
  const child = new Deno.Command(Deno.execPath(), {
    args: programArguments(["serve", "--share-port", "--stop-with-stdin"], {
      permissions: ["-A", V8_FLAGS],
    }),
    signal: stop,
    // The pipe ends with this process, however it dies, and the instance with it.
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  // An instance that does not handle SIGTERM yet has nothing to record.
  const ended = child.status.then(({ code, signal }) => signal === "SIGTERM" ? 0 : code);
  return { pid: child.pid, ready: greeted(child.stdout, first), ended };
}

/** True as soon as there is output: an instance prints some when it serves. With `show` it is passed on. */
function greeted(stdout: ReadableStream<Uint8Array>, show: boolean): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  (async () => {
    for await (const bytes of stdout) {
      if (show) writeAll(Deno.stdout, bytes);
      resolve(true);
    }
    resolve(false);
  })();
  return promise;
}
