const NO_KEY_LIMITS = {
  requests_per_minute: null,
  mcp_calls_per_minute: null,
  max_concurrent: null,
  burst_per_10_seconds: null,
  webhook_deliveries_per_minute: null,
};

/** A configuration that limits nobody, for tests of something else. */
export const NO_LIMITS = {
  plans: { starter: { requests_per_minute: null } },
  limits: { live: NO_KEY_LIMITS, test: NO_KEY_LIMITS, public_per_minute: null },
};
