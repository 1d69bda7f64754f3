/**
 * Integrations: outside systems that an organization installed. They receive messages about events of their
 * topics, lend credentials to Git repositories, sign in by OAuth, and decide approvals from Telegram.
 *
 * Several instances: records, jobs, tokens and OAuth flows are in the store. Any instance may perform a due job or
 * refresh under a lease. The runner keeps in memory only which tenants have integrations and what runs in this
 * process; on a shared store it follows the logs of all tenants.
 */

export { INTEGRATION_TYPES, listCatalog } from "./catalog.ts";
export { IntegrationRunner } from "./job_runner.ts";
export {
  adoptIntegration,
  installIntegration,
  listIntegrations,
  MADE_INTEGRATIONS,
  removeIntegration,
} from "./manage.ts";
export { beginFlow, finishFlow, FLOW_COOKIE } from "./oauth/flow.ts";
export { repositoryCredentialOf } from "./repository.ts";
export { INTEGRATION } from "./standing.ts";
export { createLinkCode, deleteLink, listLinks } from "./telegram/links.ts";
export { receiveTelegram } from "./telegram/receive.ts";
