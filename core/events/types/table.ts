import { agentEvents } from "./agents.ts";
import { auditEvents } from "./audit.ts";
import type { AuditEventType } from "./event.ts";
import { fleetEvents } from "./fleet.ts";
import { gitopsEvents } from "./gitops.ts";
import { hostEvents } from "./host.ts";
import { keyEvents } from "./keys.ts";
import { mcpClientEvents } from "./mcp_clients.ts";
import { outsideEvents } from "./outside.ts";
import { peopleEvents } from "./people.ts";
import { selfApprovalEvents } from "./self_approval.ts";
import { standingEvents } from "./standing.ts";
import { upgradeEvents } from "./upgrades.ts";
import { webhookEvents } from "./webhooks.ts";

/** Every event type that only the audit log has. Those that webhooks also carry are in WEBHOOK_EVENTS. */
export const AUDIT_EVENTS = {
  ...keyEvents,
  ...peopleEvents,
  ...mcpClientEvents,
  ...agentEvents,
  ...upgradeEvents,
  ...fleetEvents,
  ...selfApprovalEvents,
  ...gitopsEvents,
  ...outsideEvents,
  ...standingEvents,
  ...webhookEvents,
  ...auditEvents,
  ...hostEvents,
} as const satisfies Readonly<Record<string, AuditEventType>>;

export type AuditEventName = keyof typeof AUDIT_EVENTS;
