import assert from "node:assert/strict";
import { Starting } from "../../core/cli/hosted.ts";
import { ManualClock } from "../support/clock.ts";

/** A part whose starts the test ends. */
function slowPart() {
  const clock = new ManualClock();
  const starts: PromiseWithResolvers<string>[] = [];
  const errors: unknown[] = [];
  const start = () => {
    const started = Promise.withResolvers<string>();
    starts.push(started);
    return started.promise;
  };
  const part = new Starting(clock, start, (error) => void errors.push(error));
  return { clock, starts, errors, part };
}

const UNAVAILABLE = { code: "UNAVAILABLE", status: 503 };

Deno.test("Starting.wait: requests that come during the start wait for it", async () => {
  const { starts, part } = slowPart();
  const waiting = [part.wait(), part.wait()];
  assert.equal(part.started, null);
  starts[0]!.resolve("relay");
  assert.deepEqual(await Promise.all(waiting), ["relay", "relay"]);
  assert.equal(part.started, "relay");
  assert.equal(starts.length, 1);
});

Deno.test("Starting.wait: a failed start is reported once and refuses requests for 5 s", async () => {
  const { clock, starts, errors, part } = slowPart();
  starts[0]!.reject("no secret");
  await assert.rejects(part.wait(), { ...UNAVAILABLE, details: { retry_after: 5 } });
  clock.advance(4_999);
  await assert.rejects(part.wait(), UNAVAILABLE);
  assert.deepEqual(errors, ["no secret"]);
  assert.equal(starts.length, 1);
});

Deno.test("Starting.wait: the first request 5 s after a failed start tries again", async () => {
  const { clock, starts, part } = slowPart();
  starts[0]!.reject("no store");
  await assert.rejects(part.wait(), UNAVAILABLE);
  clock.advance(5_000);
  const waiting = [part.wait(), part.wait()];
  assert.equal(starts.length, 2);
  starts[1]!.resolve("relay");
  assert.deepEqual(await Promise.all(waiting), ["relay", "relay"]);
});

Deno.test("Starting.wait: a start that hangs refuses a request after 20 s and serves later ones", async () => {
  const { clock, starts, part } = slowPart();
  const refused = assert.rejects(part.wait(), UNAVAILABLE);
  clock.advance(20_000);
  await refused;
  const waiting = part.wait();
  starts[0]!.resolve("relay");
  assert.equal(await waiting, "relay");
  assert.equal(starts.length, 1);
  assert.equal(clock.pending, 0);
});
