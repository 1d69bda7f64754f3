/**
 * How events leave Relay: webhooks and integrations.
 *
 * Webhooks send events of the log to receivers over HTTP. A follower of the log creates exactly one delivery for each
 * event and subscribed webhook. A delivery is attempted until it succeeds, its retry policy ends or its webhook is
 * deleted; a crash may repeat an attempt but never loses a delivery. While a webhook is disabled its deliveries are
 * held. Each request is signed, and a slow or dead receiver delays no other receiver or organization.
 *
 * Integrations are outside systems that an organization installed. They receive messages about events of their
 * topics, lend credentials to Git repositories, sign in by OAuth, and decide approvals from Telegram.
 *
 * State in memory is a hint: `Deliveries` knows which receivers have something due here, their concurrency limits and
 * the counts of the last half second; the integrations' runner knows which tenants have integrations and what runs in
 * this process. Due times and leases are in the store, each instance claims work by compare-and-set, and a sweep
 * every 15 s finds work of which an instance got no signal. Each instance has its own concurrency limits.
 */

export { disableWebhook, enableWebhook } from "./webhooks/activation.ts";
export { listEventTypes } from "./webhooks/catalogue.ts";
export { Deliveries } from "./webhooks/deliveries.ts";
export { getDelivery, listDeliveries, resendDelivery } from "./webhooks/delivery_log.ts";
export { readLedger } from "./webhooks/ledger.ts";
export {
  adoptWebhook,
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  madeWebhooks,
} from "./webhooks/manage.ts";
export { type PulledEvent, pullEvents, READABLE_BY } from "./webhooks/pull.ts";
export {
  cancelRecovery,
  countRecoverable,
  getRecovery,
  RECOVERABLE,
  type Recoverable,
  recoverDeliveries,
} from "./webhooks/recovery.ts";
export { dropExpired } from "./webhooks/retention.ts";
export { RetryPolicy, RetryPolicyChange } from "./jobs/retry_policy.ts";
export { signDelivery } from "./webhooks/signing.ts";
export { WEBHOOK } from "./webhooks/standing.ts";
export { testWebhook } from "./webhooks/test_event.ts";
export { updateWebhook } from "./webhooks/update.ts";
export { INTEGRATION_TYPES, listCatalog } from "./integrations/catalog.ts";
export { IntegrationRunner } from "./integrations/integration_runner.ts";
export {
  adoptIntegration,
  installIntegration,
  listIntegrations,
  MADE_INTEGRATIONS,
  removeIntegration,
} from "./integrations/manage.ts";
export { beginFlow, finishFlow, FLOW_COOKIE } from "./integrations/oauth/flow.ts";
export { repositoryCredentialOf } from "./integrations/repository.ts";
export { INTEGRATION } from "./integrations/standing.ts";
export { createLinkCode, deleteLink, listLinks } from "./integrations/telegram/links.ts";
export { receiveTelegram } from "./integrations/telegram/receive.ts";
