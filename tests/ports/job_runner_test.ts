import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { type JobRules, JobRunner, stepEach } from "../../core/ports/job_runner.ts";
import { ManualClock } from "../support/clock.ts";

/** A runner with its clock and its errors. */
function runnerOf(search: JobRules["search"], slots?: JobRules["slots"]) {
  const clock = new ManualClock();
  const errors: string[] = [];
  const log = {
    info: () => {},
    warn: () => {},
    error: (message: string) => void errors.push(message),
  };
  const rules = { ports: { clock, log }, failure: "a job failed", search };
  return { clock, errors, runner: new JobRunner({ ...rules, ...slots && { slots } }) };
}

Deno.test("JobRunner.start: keeps to the slots of all and of one organization, and runs no job twice", async () => {
  const end = Promise.withResolvers<void>();
  const due = ["a1", "a1", "a2", "a3", "b1", "b2"];
  const started: string[] = [];
  const { runner } = runnerOf((runner) => {
    for (const name of due) {
      if (started.includes(name) && !runner.isRunning(name)) continue;
      if (runner.start(name, { org: name[0]! }, () => end.promise)) started.push(name);
    }
    return Promise.resolve(Infinity);
  }, { all: 3, ofOne: 2 });
  runner.wake();
  await Promise.resolve();
  await Promise.resolve();
  deq([started, runner.isFull], [["a1", "a2", "b1"], true]);
  end.resolve();
  await runner.idle();
  // A job that ends starts those that wait for its slot.
  deq(started, ["a1", "a2", "b1", "a3", "b2"]);
});

Deno.test("JobRunner: searches again one second after an error of a search or a job, and not before", async () => {
  let searches = 0;
  const { clock, errors, runner } = runnerOf((runner) => {
    searches++;
    if (searches === 1) throw new Error("no store");
    if (searches === 2) runner.start("a", { org: "o" }, () => Promise.reject(new Error("no host")));
    return Promise.resolve(Infinity);
  }, { all: 1, ofOne: 1 });
  runner.wake();
  await runner.idle();
  for (const expected of [2, 3]) {
    clock.advance(999);
    await runner.idle();
    eq(searches, expected - 1);
    clock.advance(1);
    await runner.idle();
    eq(searches, expected);
  }
  deq(errors, ["a job failed", "a job failed"]);
});

Deno.test("JobRunner.wakeAt: keeps one timer, for the earliest time", async () => {
  let searches = 0;
  const { clock, runner } = runnerOf(() => Promise.resolve(++searches && Infinity));
  for (const waitMs of [500, 100, 300]) runner.wakeAt(clock.now() + waitMs);
  eq(clock.pending, 1);
  clock.advance(100);
  await runner.idle();
  deq([searches, clock.pending], [1, 0]);
});

Deno.test("JobRunner.stop: waits for running jobs and starts no more", async () => {
  const end = Promise.withResolvers<void>();
  let started = 0;
  const { clock, runner } = runnerOf((runner) => {
    if (runner.start("a", { org: "o" }, () => end.promise)) started++;
    return Promise.resolve(clock.now() + 1_000);
  }, { all: 1, ofOne: 1 });
  runner.wake();
  await Promise.resolve();
  await Promise.resolve();
  let stopped = false;
  const stopping = runner.stop().then(() => stopped = true);
  await Promise.resolve();
  eq(stopped, false);
  end.resolve();
  await stopping;
  runner.wake();
  runner.wakeAt(clock.now() + 1);
  clock.advance(2_000);
  await runner.idle();
  deq([started, clock.pending], [1, 0]);
});

Deno.test("stepEach: jobs take turns, and a failing one delays no other and rests for a second", async () => {
  const left = new Map([["long", 3], ["broken", 1], ["short", 1]]);
  const steps: string[] = [];
  const clock = new ManualClock(), errors: string[] = [];
  const log = { info() {}, warn() {}, error: (message: string) => void errors.push(message) };
  const runner = new JobRunner({
    ports: { clock, log },
    failure: "a job failed",
    search: stepEach(
      { clock },
      async function* () {
        yield* [...left.keys()];
      },
      (name) => name,
      (name) => {
        steps.push(name);
        if (name === "broken") return Promise.reject(new Error("no rows"));
        left.set(name, left.get(name)! - 1);
        if (left.get(name) === 0) left.delete(name);
        return Promise.resolve();
      },
    ),
  });
  runner.wake();
  await runner.idle();
  deq(steps, ["long", "broken", "short", "long", "long"]);
  clock.advance(999);
  await runner.idle();
  eq(errors.length, 1);
  clock.advance(1);
  await runner.idle();
  deq([steps.length, errors.length], [6, 2]);
  await runner.stop();
});
