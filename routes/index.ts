import { accountRoutes } from "./account.ts";
import { agentRoutes } from "./agents.ts";
import { alertRoutes } from "./alerts.ts";
import { apiKeyRoutes } from "./api_keys.ts";
import { approvalRoutes } from "./approvals.ts";
import { auditRoutes } from "./audit.ts";
import { commandRoutes } from "./commands.ts";
import { docsRoutes } from "./docs.ts";
import { eventRoutes } from "./events.ts";
import { gitopsRoutes } from "./gitops.ts";
import { gitopsAgentRoutes } from "./gitops_agents.ts";
import { gitopsPolicyRoutes } from "./gitops_policies.ts";
import { healthRoutes } from "./health.ts";
import { ingestTokenRoutes } from "./ingest_tokens.ts";
import { limitRoutes } from "./limits.ts";
import { pullRoutes } from "./pull.ts";
import { receiverRoutes } from "./receivers.ts";
import { shieldRoutes } from "./shield.ts";
import { telegramRoutes } from "./telegram.ts";
import { usageRoutes } from "./usage.ts";
import { webhookDeliveryRoutes } from "./webhook_deliveries.ts";
import { webhookRoutes } from "./webhooks.ts";
import { socket } from "./ws.ts";

/** Every endpoint: the table of contents of the interface. */
export const routes = [
  ...healthRoutes,
  ...accountRoutes,
  ...agentRoutes,
  ...commandRoutes,
  ...approvalRoutes,
  ...alertRoutes,
  ...ingestTokenRoutes,
  ...receiverRoutes,
  ...telegramRoutes,
  ...shieldRoutes,
  ...gitopsRoutes,
  ...gitopsPolicyRoutes,
  ...gitopsAgentRoutes,
  ...apiKeyRoutes,
  ...usageRoutes,
  ...webhookRoutes,
  ...webhookDeliveryRoutes,
  ...pullRoutes,
  ...auditRoutes,
  ...eventRoutes,
  ...limitRoutes,
  ...docsRoutes,
];

/** Paths that leave HTTP. */
export const upgrades = [socket];
