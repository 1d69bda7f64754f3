import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { random } from "../support/random.ts";
import { lowestOf, type Point, slopeOf, trendOf } from "./flat.ts";
import type { Sample } from "./samples.ts";
import { judge, SERIES } from "./series.ts";

const BOUND = { perHour: 60, atLeast: 5 };
const SAMPLE_S = 5;

/** Points of ten minutes, which the dice move up and down. */
function series(of: (atS: number) => number, seed = 1): Point[] {
  const dice = random(seed);
  return Array.from({ length: 120 }, (_, n) => [n * SAMPLE_S, of(n * SAMPLE_S) + dice.unit()]);
}

Deno.test("slopeOf: a third of the points may be anything", () => {
  const points = series((atS) => atS % 15 === 0 ? 1e6 : 2 * atS);
  eq(Math.round(slopeOf(points) * 10) / 10, 2);
  eq(slopeOf([]), 0);
  eq(slopeOf([[1, 5]]), 0);
});

Deno.test("trendOf: noise, a step and a fall are flat, a leak is not", () => {
  eq(trendOf(series(() => 100), BOUND).isFlat, true);
  eq(trendOf(series((atS) => atS < 60 ? 10 : 100), BOUND).isFlat, true);
  eq(trendOf(series((atS) => 1000 - atS), BOUND).isFlat, true);
  eq(trendOf(series((atS) => 100 + atS / 30), BOUND).isFlat, false);
  // As steep, but for too short a time to tell it from noise.
  eq(trendOf(series((atS) => 100 + atS / 30).slice(0, 20), BOUND).isFlat, true);
});

Deno.test("lowestOf: what lies between collections of garbage does not count", () => {
  deq(lowestOf([[0, 9], [1, 5], [2, 7], [3, 6], [4, 8], [5, 8], [6, 1]], 3), [[1, 5], [3, 6]]);
});

/** A run whose relay was killed once, with the same figures at each moment but some. */
function run(change: (n: number) => Partial<Sample> = () => ({})): Sample[] {
  return Array.from({ length: 120 }, (_, n) => ({
    ...Object.fromEntries(SERIES.map(({ key }) => [key, 10])) as unknown as Sample,
    atS: n * SAMPLE_S,
    life: n < 60 ? 1 : 2,
    events: 100 * n,
    storeMiB: n / 10,
    ...change(n),
  }));
}

Deno.test("judge: only what the last process does after its warm-up counts", () => {
  deq(judge(run().slice(0, 70)), null);
  deq(judge(run())!.faults, []);
  deq(judge(run((n) => ({ handles: n < 80 ? 10 * n : 800 })))!.faults, []);
  deq(judge(run((n) => ({ handles: n })))!.faults, ["Open handles grows by 720.0  an hour"]);
});

Deno.test("judge: an event may not take more and more of the store", () => {
  const [first, last] = judge(run())!.bytesPerEvent;
  eq(first, last);
  const { faults } = judge(run((n) => ({ storeMiB: n ** 2 / 100 })))!;
  eq(faults.length, 1);
});
