import { accountRoutes } from "./account.ts";
import { agentRoutes } from "./agents.ts";
import { apiKeyRoutes } from "./api_keys.ts";
import { approvalRoutes } from "./approvals.ts";
import { auditRoutes } from "./audit.ts";
import { commandRoutes } from "./commands.ts";
import { docsRoutes } from "./docs.ts";
import { healthRoutes } from "./health.ts";
import { shieldRoutes } from "./shield.ts";
import { webhookRoutes } from "./webhooks.ts";
import { agentSocket } from "./ws.ts";

/** Every endpoint: the table of contents of the interface. */
export const routes = [
  ...healthRoutes,
  ...accountRoutes,
  ...agentRoutes,
  ...commandRoutes,
  ...approvalRoutes,
  ...shieldRoutes,
  ...apiKeyRoutes,
  ...webhookRoutes,
  ...auditRoutes,
  ...docsRoutes,
];

/** Paths that leave HTTP. */
export const upgrades = [agentSocket];
