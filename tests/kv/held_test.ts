import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Tenant } from "../../kv/store/collection.ts";
import { HeldEvents } from "../../kv/log/held.ts";

const a: Tenant = { org: "a", space: "live" }, b: Tenant = { org: "b", space: "live" };
const events = (first: number, count: number, chars = 100) =>
  Array.from({ length: count }, (_, n) => ({
    seq: first + n,
    type: "t",
    json: "x".repeat(chars),
  }));

Deno.test("HeldEvents: all are let go when there are more than the limit, and a large one counts for several", () => {
  for (const [count, chars] of [[8, 1_024], [4, 1_025], [2, 4_096]] as const) {
    const held = new HeldEvents(8);
    held.add(a, events(1, count, chars));
    strictEqual(held.after(a, 0, 99)!.length, count, "as many as the limit");
    held.add(b, events(1, 1));
    deepStrictEqual([held.after(a, 0, 99), held.after(b, 0, 99)?.length], [null, 1]);
    held.add(b, events(2, count, chars));
    deepStrictEqual(held.after(b, 1, 99)?.length, count);
    strictEqual(held.after(b, 0, 99), null, "no gap, and not above the limit");
    held.add(a, events(1, count + 1, chars));
    strictEqual(held.after(a, 0, 99), null, "too many at once");
  }
});

Deno.test("HeldEvents: what was done or replaced makes room", () => {
  const held = new HeldEvents(9);
  for (let round = 0; round < 5; round++) {
    held.add(b, events(1 + round, 1));
    held.add(a, events(1 + 10 * round, 3, 2_000));
    held.drop(a, 2 + 10 * round);
    deepStrictEqual(held.after(a, 2 + 10 * round, 99)?.map(({ seq }) => seq), [3 + 10 * round]);
    deepStrictEqual(held.after(b, round, 99)?.map(({ seq }) => seq), [1 + round]);
    held.drop(b, 1 + round);
  }
});
