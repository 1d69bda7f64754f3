import type { Scope } from "../../identity/identity.ts";

/** Notification types, each with the right needed to read it; null for personal matters. */
export const NOTICES = {
  approval_requested: { scope: "approvals:read", meaning: "a command awaits approval" },
  webhook_disabled: {
    scope: "system:read",
    meaning: "a webhook was disabled after its last attempt failed",
  },
  api_key_expiring: { scope: "system:read", meaning: "an API key expires soon" },
  agent_lost: { scope: "agents:read", meaning: "an agent has been disconnected for a minute" },
  device_paired: { scope: "agents:read", meaning: "a device was paired" },
  integration_expired: {
    scope: "system:read",
    meaning: "an integration must be connected again",
  },
  standing_suspended: {
    scope: "system:read",
    meaning:
      "a repository, webhook, integration or ingest token was suspended, because its person lost rights it needs",
  },
  plan_limit_reached: {
    scope: "system:read",
    meaning: "requests were refused by the plan's limit",
  },
  old_key_value_used: {
    scope: "system:read",
    meaning: "the old value of a rotated API key was used to change the shield, policies or roles",
  },
  refresh_token_reused: {
    scope: null,
    meaning:
      "one of your used refresh tokens was presented again, and its session or MCP client was ended",
  },
  self_approval_requested: {
    scope: "system:read",
    meaning: "a request to allow self-approval awaits a second administrator",
  },
  self_approval_allowed: {
    scope: "system:read",
    meaning: "self-approval was allowed",
  },
} as const satisfies Record<string, { scope: Scope | null; meaning: string }>;

export type NoticeType = keyof typeof NOTICES;

/** The content of a notification. */
export interface Notice {
  readonly type: NoticeType;
  readonly resource: { readonly type: string; readonly id: string };
  /** The agent concerned, when the resource is not that agent. */
  readonly agentId?: string;
  readonly details: Readonly<Record<string, unknown>>;
}
