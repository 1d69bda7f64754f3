/**
 * Webhooks: events of the log, sent to receivers over HTTP.
 *
 * A follower of the log creates exactly one delivery for each event and subscribed webhook. A delivery is attempted
 * until it succeeds, its retry policy ends or its webhook goes; a crash may repeat an attempt but never loses a
 * delivery. While a webhook is disabled its deliveries are held. Each request is signed, and a slow or dead
 * receiver delays no other receiver or organization.
 *
 * State in memory: `Deliveries` knows which receivers have something due here, their concurrency limits and the
 * counts of the last half second. All of it is a hint: what is due and what is leased is in the store, each instance
 * claims deliveries by compare-and-set, and a sweep every 15 s finds what an instance was not told of. The
 * concurrency limits hold for each instance.
 */

export { disableWebhook, enableWebhook } from "./activation.ts";
export { listEventTypes } from "./catalogue.ts";
export { Deliveries } from "./deliveries.ts";
export { getDelivery, listDeliveries, resendDelivery } from "./delivery_log.ts";
export { readLedger } from "./ledger.ts";
export {
  adoptWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  madeWebhooks,
} from "./manage.ts";
export { type PulledEvent, pullEvents, READABLE_BY } from "./pull.ts";
export {
  cancelRecovery,
  countRecoverable,
  getRecovery,
  RECOVERABLE,
  type Recoverable,
  recoverDeliveries,
} from "./recovery.ts";
export { dropExpired } from "./retention.ts";
export {
  afterFailure,
  isDue,
  retryAfterMs,
  RetryPolicy,
  RetryPolicyChange,
} from "./retry_policy.ts";
export { signDelivery } from "./signing.ts";
export { WEBHOOK } from "./standing.ts";
export { testWebhook } from "./test_event.ts";
export { updateWebhook } from "./update.ts";
