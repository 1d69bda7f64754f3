import { deepStrictEqual as deq } from "node:assert/strict";
import { steadyNow } from "../../core/ports/system.ts";

Deno.test("steadyNow: time stands still for a small step back and follows a large one", () => {
  const wall = [100_000, 99_000, 95_000, 100_001, 95_000, 200_000];
  const shown = [100_000, 100_000, 100_000, 100_001, 95_000, 200_000];
  const now = steadyNow(() => wall.shift()!);
  deq(shown.map(() => now()), shown);
});
