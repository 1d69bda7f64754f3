import { z } from "zod";

/** The delays of a policy that nobody changed; with them the server's ladder applies. */
const DEFAULT_DELAYS = {
  backoff_multiplier: 6,
  initial_delay_seconds: 30,
  max_delay_seconds: 3600,
} as const;

const DAY_SECONDS = 86_400;

/** A webhook's retry policy; whatever a create request leaves out takes its default. */
export const RetryPolicy = z.strictObject({
  max_retries: z.int().min(1).max(12).default(5)
    .describe("Attempts in all, the first included."),
  backoff_multiplier: z.int().min(1).max(100).default(DEFAULT_DELAYS.backoff_multiplier)
    .describe("Each delay is the one before times this."),
  initial_delay_seconds: z.int().min(1).max(DAY_SECONDS)
    .default(DEFAULT_DELAYS.initial_delay_seconds)
    .describe("The delay before the second attempt."),
  max_delay_seconds: z.int().min(1).max(DAY_SECONDS).default(DEFAULT_DELAYS.max_delay_seconds)
    .describe("No delay is longer."),
  timeout_seconds: z.int().min(1).max(10).default(10)
    .describe("One deadline from the name look-up to the head of the response."),
  auto_disable: z.boolean().default(true)
    .describe("Disables the webhook when a delivery failed in its last attempt."),
  disable_on_gone: z.boolean().default(false)
    .describe("Disables the webhook when the receiver answers 410."),
  respect_retry_after: z.boolean().default(false)
    .describe("Waits longer when the receiver says so in Retry-After."),
});

/** A whole policy, defaults filled in. */
export type RetryPolicy = z.infer<typeof RetryPolicy>;

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

function followsLadder(policy: RetryPolicy): boolean {
  return policy.backoff_multiplier === DEFAULT_DELAYS.backoff_multiplier &&
    policy.initial_delay_seconds === DEFAULT_DELAYS.initial_delay_seconds &&
    policy.max_delay_seconds === DEFAULT_DELAYS.max_delay_seconds;
}

function backoffSeconds(policy: RetryPolicy, failedAttempt: number): number {
  const grown = policy.initial_delay_seconds * policy.backoff_multiplier ** (failedAttempt - 1);
  return Math.min(grown, policy.max_delay_seconds);
}
