import { accountRoutes } from "./account.ts";
import { accountCareRoutes } from "./account_care.ts";
import { adminAccountRoutes } from "./admin_accounts.ts";
import { adminConfigRoutes } from "./admin_config.ts";
import { adminDashboardRoutes } from "./admin_dashboard.ts";
import { adminPlanRoutes } from "./admin_plans.ts";
import { agentUpgradeRoutes } from "./agent_upgrades.ts";
import { agentRoutes } from "./agents.ts";
import { alertRoutes } from "./alerts.ts";
import { apiKeyRoutes } from "./api_keys.ts";
import { approvalRoutes } from "./approvals.ts";
import { auditRoutes } from "./audit.ts";
import { commandOutputRoutes } from "./command_output.ts";
import { commandListRoutes } from "./command_lists.ts";
import { commandRoutes } from "./commands.ts";
import { complianceRoutes } from "./compliance.ts";
import type { Route } from "./call/route.ts";
import { consoleSessionRoutes } from "./console_sessions.ts";
import { deviceLoginRoutes } from "./device_logins.ts";
import { deviceRoutes } from "./devices.ts";
import { docsRoutes } from "./docs.ts";
import { eventRoutes } from "./events.ts";
import { fleetCommandRoutes } from "./fleet_commands.ts";
import { gitopsRoutes } from "./gitops.ts";
import { gitopsAgentRoutes } from "./gitops_agents.ts";
import { gitopsPolicyRoutes } from "./gitops_policies.ts";
import { healthRoutes } from "./health.ts";
import { ingestTokenRoutes } from "./ingest_tokens.ts";
import { integrationRoutes } from "./integrations.ts";
import { limitRoutes } from "./limits.ts";
import { mcpClientRoutes } from "./mcp_clients.ts";
import { patternRoutes } from "./patterns.ts";
import { peopleRoutes } from "./people.ts";
import { pullRoutes } from "./pull.ts";
import { receiverRoutes } from "./receivers.ts";
import { roleRoutes } from "./roles.ts";
import { secretRoutes } from "./secrets.ts";
import { shieldRoutes } from "./shield.ts";
import { telegramRoutes } from "./telegram.ts";
import { usageRoutes } from "./usage.ts";
import { webhookDeliveryRoutes } from "./webhook_deliveries.ts";
import { webhookRoutes } from "./webhooks.ts";
import { socket } from "./ws.ts";

/** Every endpoint: the table of contents of the interface. */
export const routes: readonly Route[] = [
  ...healthRoutes,
  ...accountRoutes,
  ...consoleSessionRoutes,
  ...deviceLoginRoutes,
  ...mcpClientRoutes,
  ...accountCareRoutes,
  ...agentRoutes,
  ...agentUpgradeRoutes,
  ...deviceRoutes,
  ...commandRoutes,
  ...commandOutputRoutes,
  ...commandListRoutes,
  ...fleetCommandRoutes,
  ...approvalRoutes,
  ...alertRoutes,
  ...ingestTokenRoutes,
  ...receiverRoutes,
  ...telegramRoutes,
  ...shieldRoutes,
  ...gitopsRoutes,
  ...gitopsPolicyRoutes,
  ...gitopsAgentRoutes,
  ...patternRoutes,
  ...apiKeyRoutes,
  ...peopleRoutes,
  ...roleRoutes,
  ...usageRoutes,
  ...webhookRoutes,
  ...webhookDeliveryRoutes,
  ...pullRoutes,
  ...integrationRoutes,
  ...secretRoutes,
  ...auditRoutes,
  ...complianceRoutes,
  ...eventRoutes,
  ...adminPlanRoutes,
  ...adminAccountRoutes,
  ...adminConfigRoutes,
  ...adminDashboardRoutes,
  ...limitRoutes,
  ...docsRoutes(() => routes),
];

/** Paths that upgrade to WebSocket. */
export const upgrades = [socket];
