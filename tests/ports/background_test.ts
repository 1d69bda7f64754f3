import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { Housekeeping } from "../../core/host/housekeeping.ts";
import { Background } from "../../core/ports/background.ts";
import { ManualClock } from "../support/clock.ts";

const LOG = { info() {}, warn() {}, error() {} };

Deno.test("background: idle waits for tasks that tasks start, and a failure reaches onError", async () => {
  const failures: string[] = [];
  const background = new Background((name, error) => failures.push(`${name}: ${error}`));
  const order: string[] = [];
  background.run("first", async () => {
    await Promise.resolve();
    background.run("second", async () => {
      await Promise.resolve();
      order.push("second");
      throw new Error("no");
    });
    order.push("first");
  });
  eq(background.count("first"), 1);
  await background.idle();
  deq([order, failures, background.count("first")], [
    ["first", "second"],
    ["second: Error: no"],
    0,
  ]);
});

Deno.test("housekeeping: after stop no further task of the running round starts", async () => {
  const ran: string[] = [];
  const first = Promise.withResolvers<void>();
  const background = new Background(() => {});
  const housekeeping = new Housekeeping(
    {
      async first() {
        ran.push("first");
        await first.promise;
      },
      second: () => ran.push("second"),
    },
    { clock: new ManualClock(0), log: LOG },
    background,
    () => {},
  );
  const round = housekeeping.run();
  housekeeping.stop();
  first.resolve();
  await round;
  deq(ran, ["first"]);
});
