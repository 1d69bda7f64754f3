import type { WebhookEventType } from "../types/webhook_events.ts";

/** In ascending order. */
export const SEVERITIES = ["info", "warning", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Event types above `info`. */
const RAISED: Partial<Record<WebhookEventType, Severity>> = {
  command_denied: "critical",
  command_timeout: "warning",
  agent_disconnected: "warning",
  agent_health_changed: "warning",
  agent_deleted: "warning",
  session_timeout: "warning",
  policy_deleted: "warning",
  approval_requested: "warning",
};

export const severityOf = (type: WebhookEventType): Severity => RAISED[type] ?? "info";

/** True when a severity is at least another. */
export const isAtLeast = (severity: Severity, least: Severity): boolean =>
  SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);
