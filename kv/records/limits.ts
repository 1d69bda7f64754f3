import { z } from "zod";

const Limit = z.int().min(1).max(2_147_483_646).nullable();

/** Limits that replace some of the configured ones; `null` is unlimited, what is left out stays. */
export const LimitOverrides = z.strictObject({
  requests_per_minute: Limit.optional(),
  mcp_calls_per_minute: Limit.optional(),
  max_concurrent: Limit.optional(),
  burst_per_10_seconds: Limit.optional(),
  webhook_deliveries_per_minute: Limit.optional(),
});
export type LimitOverrides = z.infer<typeof LimitOverrides>;
