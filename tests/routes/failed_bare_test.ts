import assert from "node:assert/strict";
import { Fault } from "../../core/fault/fault.ts";
import { failedBare } from "../../routes/http/refusal.ts";
import { ManualClock } from "../support/clock.ts";
import { seededEntropy } from "../support/world.ts";

function answerTo(error: unknown) {
  const lines: [message: string, fields: Readonly<Record<string, unknown>> | undefined][] = [];
  const log = {
    info() {},
    warn() {},
    error: (message: string, fields?: Readonly<Record<string, unknown>>) =>
      void lines.push([message, fields]),
  };
  const clock = new ManualClock();
  const ports = { clock, entropy: seededEntropy(1, clock), log };
  return { response: failedBare(ports, error), lines };
}

Deno.test("failedBare: an unhandled error is logged and gets the 500 of every other route", async () => {
  const bug = new Error("a bug with a secret");
  const { response, lines } = answerTo(bug);
  assert.equal(response.status, 500);
  assert.equal(response.headers.get("content-type"), "application/json");
  assert.equal(response.headers.get("x-ratelimit-remaining"), "2147483647");
  const request_id = response.headers.get("x-request-id");
  const message = "Internal error; it has been logged.";
  assert.deepEqual(await response.json(), {
    error: { code: "INTERNAL_ERROR", message, details: { request_id } },
  });
  assert.deepEqual(lines, [["unhandled error", { request_id, route: "server", error: bug.stack }]]);
});

Deno.test("failedBare: a fault is answered as such and not logged", () => {
  const fault = new Fault("UNAVAILABLE", "Not yet.", { retry_after: 5 });
  const { response, lines } = answerTo(fault);
  assert.equal(response.status, 503);
  assert.equal(response.headers.get("retry-after"), "5");
  assert.deepEqual(lines, []);
});
