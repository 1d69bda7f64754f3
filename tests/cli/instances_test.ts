import assert from "node:assert/strict";
import { checkShared, instanceCount, restartDelayMs, supervise } from "../../core/cli/instances.ts";
import { ManualClock } from "../support/clock.ts";

/** A supervisor of instances that the test lets serve and end. */
function supervisor(count: number) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const launched: {
    first: boolean;
    ready: PromiseWithResolvers<boolean>;
    ended: PromiseWithResolvers<number>;
  }[] = [];
  const waits: unknown[] = [];
  const log = {
    info: () => {},
    warn: (_: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void waits.push(fields.delay_ms),
    error: assert.fail,
  };
  const launch = (first: boolean) => {
    const ready = Promise.withResolvers<boolean>();
    const ended = Promise.withResolvers<number>();
    launched.push({ first, ready, ended });
    return { pid: launched.length, ready: ready.promise, ended: ended.promise };
  };
  const code = supervise({ count, launch, stop: stop.signal, clock, log });
  return {
    clock,
    launched,
    waits,
    code,
    stop: () => stop.abort(),
    /** The newest instance ends. */
    async end(code: number) {
      launched.at(-1)!.ended.resolve(code);
      await settled();
    },
  };
}

/** Everything that follows from what was resolved has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

Deno.test("supervise: the others start when the first one serves", async () => {
  const { launched, code, stop } = supervisor(3);
  assert.deepEqual(launched.map(({ first }) => first), [true]);
  launched[0]!.ready.resolve(true);
  await settled();
  assert.deepEqual(launched.map(({ first }) => first), [true, false, false]);
  stop();
  for (const { ended } of launched) ended.resolve(0);
  assert.equal(await code, 0);
});

Deno.test("supervise: a first instance that cannot start ends everything with its exit code", async () => {
  const { launched, code } = supervisor(3);
  launched[0]!.ready.resolve(false);
  launched[0]!.ended.resolve(1);
  assert.equal(await code, 1);
  assert.equal(launched.length, 1);
});

Deno.test("supervise: an instance that ends is replaced after a delay that doubles up to 30 s", async () => {
  const { clock, launched, waits, end } = supervisor(2);
  launched[0]!.ready.resolve(true);
  await settled();
  for (let failures = 1; failures <= 7; failures++) {
    const before = launched.length;
    await end(1);
    clock.advance(restartDelayMs(failures) - 1);
    await settled();
    assert.equal(launched.length, before);
    clock.advance(1);
    await settled();
    assert.equal(launched.length, before + 1);
  }
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  clock.advance(60_000);
  await end(1);
  assert.equal(waits.at(-1), 1_000);
});

Deno.test("supervise: a stop during the delay starts nothing more", async () => {
  const { clock, launched, code, stop, end } = supervisor(2);
  launched[0]!.ready.resolve(true);
  await settled();
  await end(1);
  stop();
  launched[0]!.ended.resolve(0);
  assert.equal(await code, 0);
  clock.advance(60_000);
  await settled();
  assert.equal(launched.length, 2);
});

Deno.test("supervise: an instance that could not record everything gives its exit code", async () => {
  const { launched, code, stop } = supervisor(2);
  launched[0]!.ready.resolve(true);
  await settled();
  stop();
  launched[0]!.ended.resolve(0);
  launched[1]!.ended.resolve(1);
  assert.equal(await code, 1);
});

Deno.test("--instances: numbers from 2 to 16", () => {
  assert.deepEqual(["2", "16"].map(instanceCount), [2, 16]);
  for (const text of ["0", "1", "17", "-2", "2.5", "two", "0x4", ""]) {
    assert.throws(() => instanceCount(text), /give a number from 2 to 16/, text);
  }
});

Deno.test("--instances: refuses embedded stores, port 0 and systems that do not balance one port", () => {
  const settings = { kv: "http://127.0.0.1:4512", port: 9081 };
  checkShared(settings, "linux");
  for (const kv of [".relay/relay.kv", ":memory:"]) {
    assert.throws(() => checkShared({ ...settings, kv }, "linux"), /Start a denokv server/);
  }
  assert.throws(() => checkShared({ ...settings, port: 0 }, "linux"), /set RELAY_PORT/);
  for (const os of ["darwin", "windows"]) {
    assert.throws(() => checkShared(settings, os), /needs Linux/);
  }
});
