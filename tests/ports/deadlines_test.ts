import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { Deadlines } from "../../core/ports/outbound/deadlines.ts";
import { random } from "../support/random.ts";
import { handClock } from "./hand_clock.ts";

Deno.test("Deadlines.after: deadlines of one millisecond share a timer, which the last one cancels", () => {
  const clock = handClock();
  const deadlines = new Deadlines(clock);
  const ran: string[] = [];
  const [a, b] = ["a", "b"].map((name) => deadlines.after(10, () => ran.push(name)));
  eq(clock.pending(), 1);
  deadlines.after(20, () => ran.push("longer"));
  eq(clock.pending(), 2);
  a!();
  a!();
  eq(clock.pending(), 2, "b still waits");
  b!();
  eq(clock.pending(), 1);
  clock.advance(20);
  deq(ran, ["longer"]);
});

Deno.test("Deadlines.after: a deadline that begins after the others ended gets its whole time", () => {
  for (const between of [(end: () => void) => end(), (_: () => void) => {}]) {
    const clock = handClock();
    const deadlines = new Deadlines(clock);
    const ran: string[] = [];
    between(deadlines.after(10, () => ran.push("first")));
    clock.advance(5);
    deadlines.after(10, () => ran.push("second"));
    clock.advance(9);
    eq(ran.includes("second"), false);
    clock.advance(1);
    eq(ran.includes("second"), true);
    eq(clock.pending(), 0);
  }
});

Deno.test("Deadlines.after: each task runs at its own instant, once, unless it was cancelled before", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const dice = random(seed);
    const clock = handClock();
    const deadlines = new Deadlines(clock);
    const due = new Map<number, number>(), cancels = new Map<number, () => void>();
    const cancel = (one: number) => {
      cancels.get(one)!();
      due.delete(one);
    };
    for (let step = 0, id = 0; step < 200; step++) {
      const what = dice.unit();
      if (what < 0.6) {
        const [one, ms] = [id++, dice.pick([3, 10])];
        due.set(one, clock.now() + ms);
        const run = () => {
          eq(clock.now(), due.get(one), `seed ${seed}`);
          due.delete(one);
          // One task may take away another that ends with it.
          if (dice.unit() < 0.2) cancel(dice.pick([...due.keys(), one]));
        };
        cancels.set(one, deadlines.after(ms, run));
      } else if (what < 0.8 && due.size > 0) cancel(dice.pick([...due.keys()]));
      else clock.advance(1);
    }
    for (let ms = 0; ms < 10; ms++) clock.advance(1);
    eq(due.size, 0, `seed ${seed}: some never ran`);
    eq(clock.pending(), 0, `seed ${seed}`);
  }
});
