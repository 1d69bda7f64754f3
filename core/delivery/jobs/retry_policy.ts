import { dueAt } from "../../../kv/store/clock.ts";
import { z } from "zod";
import type { WebhookRecord } from "../../../kv/records/webhook.ts";

/** The default delays; a policy that has them follows the server's ladder. */
const DEFAULT_DELAYS = {
  backoff_multiplier: 6,
  initial_delay_seconds: 30,
  max_delay_seconds: 3600,
} as const;

const DAY_SECONDS = 86_400;
/** Longer than any attempt waits. */
const WAIT_MS_MAX = 25 * 60 * 60 * 1000;

const FIELDS = {
  max_retries: z.int().min(1).max(12)
    .describe("The maximum number of attempts, including the first."),
  backoff_multiplier: z.int().min(1).max(100)
    .describe("Each delay is the previous one times this factor."),
  initial_delay_seconds: z.int().min(1).max(DAY_SECONDS)
    .describe("The delay before the second attempt, in seconds."),
  max_delay_seconds: z.int().min(1).max(DAY_SECONDS)
    .describe("The maximum delay, in seconds."),
  timeout_seconds: z.int().min(1).max(10)
    .describe("The deadline from the name look-up to the response headers, in seconds."),
  auto_disable: z.boolean()
    .describe("Disables the webhook when the last attempt of a delivery fails."),
  disable_on_gone: z.boolean()
    .describe("Disables the webhook when the receiver returns 410."),
  respect_retry_after: z.boolean()
    .describe("Waits at least as long as the receiver's Retry-After asks."),
};

/** A webhook's retry policy; omitted fields take their defaults. */
export const RetryPolicy = z.strictObject({
  max_retries: FIELDS.max_retries.default(5),
  backoff_multiplier: FIELDS.backoff_multiplier.default(DEFAULT_DELAYS.backoff_multiplier),
  initial_delay_seconds: FIELDS.initial_delay_seconds.default(DEFAULT_DELAYS.initial_delay_seconds),
  max_delay_seconds: FIELDS.max_delay_seconds.default(DEFAULT_DELAYS.max_delay_seconds),
  timeout_seconds: FIELDS.timeout_seconds.default(10),
  auto_disable: FIELDS.auto_disable.default(true),
  disable_on_gone: FIELDS.disable_on_gone.default(false),
  respect_retry_after: FIELDS.respect_retry_after.default(false),
});

/** A change of a policy; omitted fields stay. */
export const RetryPolicyChange = z.strictObject(FIELDS).partial();
export type RetryPolicyChange = z.infer<typeof RetryPolicyChange>;

/** A complete policy. */
export type RetryPolicy = z.infer<typeof RetryPolicy>;

/** The parsed policies of records, for as long as the store's cache holds the record. */
const policies = new WeakMap<WebhookRecord, RetryPolicy>();

/** The policy of a webhook; an unreadable one counts as the default, so that its deliveries still end. */
export function policyOf(webhook: WebhookRecord): RetryPolicy {
  let policy = policies.get(webhook);
  if (policy === undefined) {
    policy = RetryPolicy.safeParse(webhook.retry_policy).data ?? RetryPolicy.parse({});
    policies.set(webhook, policy);
  }
  return policy;
}

/**
 * Milliseconds to wait after attempt `failedAttempt` (1-based) failed, or null when it was the
 * last. A policy with the default delays follows `ladderSeconds`, whose last step repeats.
 */
export function nextDelayMs(
  policy: RetryPolicy,
  failedAttempt: number,
  ladderSeconds: readonly number[],
): number | null {
  if (failedAttempt >= policy.max_retries) return null;
  const step = followsLadder(policy)
    ? ladderSeconds[failedAttempt - 1] ?? ladderSeconds.at(-1)
    : undefined;
  return 1000 * (step ?? backoffSeconds(policy, failedAttempt));
}

/** When an attempt with this due time is made. */
export const attemptAt = (dueMs: number, nowMs: number): number => dueAt(dueMs, WAIT_MS_MAX, nowMs);

/** True when an attempt with this due time is made now. */
export const isDue = (dueMs: number, nowMs: number): boolean => attemptAt(dueMs, nowMs) <= nowMs;

/** What follows a failed attempt: another attempt, or the end of the delivery and perhaps the disabling of its webhook. */
export interface Consequence {
  /** Milliseconds until the next attempt; null when this was the last. */
  readonly delayMs: number | null;
  readonly disable: boolean;
}

const GONE = 410;

/** Statuses whose `Retry-After` is respected (RFC 9110, section 10.2.3; RFC 6585). */
const BUSY = [429, 503];

/** The date format that RFC 9110, section 5.6.7, prescribes for senders. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The consequence of failed attempt `failedAttempt` (1-based), given the receiver's answer. */
export function afterFailure(
  policy: RetryPolicy,
  failedAttempt: number,
  answer: { readonly httpStatus: number | null; readonly retryAfterMs: number },
  ladderSeconds: readonly number[],
): Consequence {
  if (policy.disable_on_gone && answer.httpStatus === GONE) return { delayMs: null, disable: true };
  const delayMs = nextDelayMs(policy, failedAttempt, ladderSeconds);
  if (delayMs === null) return { delayMs, disable: policy.auto_disable };
  const askedMs = policy.respect_retry_after
    ? Math.min(answer.retryAfterMs, policy.max_delay_seconds * 1000)
    : 0;
  return { delayMs: Math.max(delayMs, askedMs), disable: false };
}

/**
 * The wait that a receiver asks for, in ms: its `Retry-After`, in seconds or as an HTTP date, when the status is
 * 429 or 503. Zero when there is none or it cannot be read.
 */
export function retryAfterMs(status: number, header: string | undefined, nowMs: number): number {
  if (header === undefined || !BUSY.includes(status)) return 0;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const untilMs = HTTP_DATE.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(untilMs) ? 0 : Math.max(0, untilMs - nowMs);
}

function followsLadder(policy: RetryPolicy): boolean {
  return policy.backoff_multiplier === DEFAULT_DELAYS.backoff_multiplier &&
    policy.initial_delay_seconds === DEFAULT_DELAYS.initial_delay_seconds &&
    policy.max_delay_seconds === DEFAULT_DELAYS.max_delay_seconds;
}

function backoffSeconds(policy: RetryPolicy, failedAttempt: number): number {
  const grown = policy.initial_delay_seconds * policy.backoff_multiplier ** (failedAttempt - 1);
  return Math.min(grown, policy.max_delay_seconds);
}
