import assert from "node:assert/strict";

import { Config } from "../../../core/context/config.ts";
import {
  afterFailure,
  nextDelayMs,
  retryAfterMs,
  RetryPolicy,
} from "../../../core/delivery/jobs/retry_policy.ts";

/** Stands for a configured ladder, so that these tests do not depend on the default one. */
const LADDER = [30, 120, 600, 1800, 3600];
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The waits between all attempts of a policy. */
function delays(policy: Partial<RetryPolicy>, ladder: readonly number[] = LADDER): number[] {
  const whole = RetryPolicy.parse(policy);
  const all: number[] = [];
  for (let failed = 1;; failed++) {
    const delay = nextDelayMs(whole, failed, ladder);
    if (delay === null) return all;
    all.push(delay);
  }
}

Deno.test("RetryPolicy: an empty policy is the default of the interface", () => {
  assert.deepEqual(RetryPolicy.parse({}), {
    max_retries: 5,
    backoff_multiplier: 6,
    initial_delay_seconds: 30,
    max_delay_seconds: 3600,
    timeout_seconds: 10,
    auto_disable: true,
    disable_on_gone: false,
    respect_retry_after: false,
  });
});

Deno.test("RetryPolicy: keeps given fields, and fills the others with defaults", () => {
  const policy = RetryPolicy.parse({ max_retries: 3, backoff_multiplier: 2 });
  assert.equal(policy.max_retries, 3);
  assert.equal(policy.backoff_multiplier, 2);
  assert.equal(policy.initial_delay_seconds, 30);
});

Deno.test("RetryPolicy: refuses values out of bounds, fractions and unknown fields", () => {
  const wrong: Record<string, unknown>[] = [
    { max_retries: 0 },
    { max_retries: 13 },
    { max_retries: 2.5 },
    { max_retries: "5" },
    { timeout_seconds: 0 },
    { timeout_seconds: 11 },
    { backoff_multiplier: 0 },
    { backoff_multiplier: 101 },
    { initial_delay_seconds: 0 },
    { max_delay_seconds: 86_401 },
    { auto_disable: 1 },
    { max_retry: 5 },
  ];
  for (const policy of wrong) {
    assert.equal(RetryPolicy.safeParse(policy).success, false, JSON.stringify(policy));
  }
  for (const policy of [{ max_retries: 1, timeout_seconds: 1 }, { max_retries: 12 }]) {
    assert.equal(RetryPolicy.safeParse(policy).success, true, JSON.stringify(policy));
  }
});

Deno.test("Config: the default ladder is the one of the interface", () => {
  assert.deepEqual(Config.parse({}).webhooks.retry_delays_seconds, [30, 120, 600, 1800, 3600]);
});

Deno.test("nextDelayMs: attempts 2 to 5 of the default policy follow 30 s, 2 m, 10 m and 30 m", () => {
  assert.deepEqual(delays({}), [30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE]);
});

Deno.test("nextDelayMs: more attempts continue at one hour", () => {
  assert.deepEqual(delays({ max_retries: 8 }).slice(4), [HOUR, HOUR, HOUR]);
});

Deno.test("nextDelayMs: max_retries counts all attempts, so 1 means no second one", () => {
  assert.deepEqual(delays({ max_retries: 1 }), []);
  assert.deepEqual(delays({ max_retries: 2 }), [30 * SECOND]);
});

Deno.test("nextDelayMs: a policy with the default delays follows the ladder, whatever else differs", () => {
  const same = { backoff_multiplier: 6, initial_delay_seconds: 30, max_delay_seconds: 3600 };
  assert.deepEqual(delays({ ...same, timeout_seconds: 3, auto_disable: false }), delays({}));
});

Deno.test("nextDelayMs: a policy with another delay backs off exponentially up to its cap", () => {
  assert.deepEqual(
    delays({ backoff_multiplier: 2, max_retries: 6 }),
    [30, 60, 120, 240, 480].map((seconds) => seconds * SECOND),
  );
  assert.deepEqual(
    delays({ initial_delay_seconds: 5 }),
    [5, 30, 180, 1080].map((seconds) => seconds * SECOND),
  );
  assert.deepEqual(
    delays({ max_delay_seconds: 200 }),
    [30, 180, 200, 200].map((seconds) => seconds * SECOND),
  );
  assert.deepEqual(delays({ backoff_multiplier: 1 }), Array(4).fill(30 * SECOND));
  assert.equal(delays({ backoff_multiplier: 100, max_retries: 12 }).at(-1), HOUR);
});

Deno.test("nextDelayMs: a configured ladder replaces the built-in one, and its last step repeats", () => {
  assert.deepEqual(delays({}, [1, 2]), [SECOND, 2 * SECOND, 2 * SECOND, 2 * SECOND]);
  assert.deepEqual(delays({}, []), [30, 180, 1080, 3600].map((seconds) => seconds * SECOND));
});

/** The consequence of a failed attempt. */
function consequence(
  policy: Partial<RetryPolicy>,
  attempt: number,
  httpStatus: number | null,
  askedMs = 0,
) {
  const answer = { httpStatus, retryAfterMs: askedMs };
  return afterFailure(RetryPolicy.parse(policy), attempt, answer, LADDER);
}

Deno.test("afterFailure: the last attempt disables the webhook, unless auto_disable is false", () => {
  assert.deepEqual(consequence({}, 4, 500), { delayMs: 30 * MINUTE, disable: false });
  assert.deepEqual(consequence({}, 5, 500), { delayMs: null, disable: true });
  assert.deepEqual(consequence({ auto_disable: false }, 5, null), {
    delayMs: null,
    disable: false,
  });
});

Deno.test("afterFailure: 410 ends the delivery with disable_on_gone, and is an ordinary failure without", () => {
  const policy = { disable_on_gone: true, auto_disable: false };
  assert.deepEqual(consequence(policy, 1, 410), { delayMs: null, disable: true });
  assert.deepEqual(consequence(policy, 1, 404), { delayMs: 30 * SECOND, disable: false });
  assert.deepEqual(consequence({}, 1, 410), { delayMs: 30 * SECOND, disable: false });
});

Deno.test("afterFailure: Retry-After lengthens a wait up to the cap, if the policy respects it", () => {
  const wait = (policy: Partial<RetryPolicy>, askedMs: number) =>
    consequence(policy, 1, 503, askedMs).delayMs;
  const policy = { respect_retry_after: true };
  assert.equal(wait(policy, 0), 30 * SECOND);
  assert.equal(wait(policy, 29 * SECOND), 30 * SECOND);
  assert.equal(wait(policy, 31 * SECOND), 31 * SECOND);
  assert.equal(wait(policy, 2 * HOUR), HOUR);
  assert.equal(wait({ ...policy, max_delay_seconds: 100 }, HOUR), 100 * SECOND);
  assert.equal(wait({}, HOUR), 30 * SECOND);
  assert.deepEqual(consequence(policy, 5, 503, HOUR), { delayMs: null, disable: true });
});

Deno.test("retryAfterMs: reads seconds and HTTP dates of 429 and 503 only", () => {
  const nowMs = Date.UTC(2030, 0, 1);
  const cases: [number, string | undefined, number][] = [
    [503, "120", 2 * MINUTE],
    [429, "0", 0],
    [429, "Tue, 01 Jan 2030 00:01:00 GMT", MINUTE],
    [503, "Mon, 31 Dec 2029 23:59:00 GMT", 0],
    [503, "Tue, 99 Jan 2030 00:01:00 GMT", 0],
    [503, undefined, 0],
    [503, "", 0],
    [503, "-5", 0],
    [503, "1.5", 0],
    [503, "soon", 0],
    [503, "2031", 2031 * SECOND],
    [500, "120", 0],
    [301, "120", 0],
  ];
  for (const [status, header, expected] of cases) {
    assert.equal(retryAfterMs(status, header, nowMs), expected, `${status} ${header}`);
  }
});
