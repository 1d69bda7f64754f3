import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Tenant } from "../../../kv/store/collection.ts";
import { EventBuffer } from "../../../kv/log/event_buffer.ts";

const a: Tenant = { org: "a", space: "live" }, b: Tenant = { org: "b", space: "live" };
const events = (first: number, count: number, chars = 100) =>
  Array.from({ length: count }, (_, n) => ({
    seq: first + n,
    type: "t",
    json: "x".repeat(chars),
  }));

Deno.test("EventBuffer: drops everything beyond its limit; a large event counts as several", () => {
  for (const [count, chars] of [[8, 1_024], [4, 1_025], [2, 4_096]] as const) {
    const buffer = new EventBuffer(8);
    buffer.add(a, events(1, count, chars));
    strictEqual(buffer.after(a, 0, 99)!.length, count, "as many as the limit");
    buffer.add(b, events(1, 1));
    deepStrictEqual([buffer.after(a, 0, 99), buffer.after(b, 0, 99)?.length], [null, 1]);
    buffer.add(b, events(2, count, chars));
    deepStrictEqual(buffer.after(b, 1, 99)?.length, count);
    strictEqual(buffer.after(b, 0, 99), null, "no gap, and not above the limit");
    buffer.add(a, events(1, count + 1, chars));
    strictEqual(buffer.after(a, 0, 99), null, "too many at once");
  }
});

Deno.test("EventBuffer: handled and replaced events free their weight", () => {
  const buffer = new EventBuffer(9);
  for (let round = 0; round < 5; round++) {
    buffer.add(b, events(1 + round, 1));
    buffer.add(a, events(1 + 10 * round, 3, 2_000));
    buffer.drop(a, 2 + 10 * round);
    deepStrictEqual(buffer.after(a, 2 + 10 * round, 99)?.map(({ seq }) => seq), [3 + 10 * round]);
    deepStrictEqual(buffer.after(b, round, 99)?.map(({ seq }) => seq), [1 + round]);
    buffer.drop(b, 1 + round);
  }
});
