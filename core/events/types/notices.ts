import type { Scope } from "../../work/scopes.ts";

/** What people are told of, and the right that one needs to be shown it; null for one's own affairs. */
export const NOTICES = {
  approval_requested: { scope: "approvals:read", meaning: "a command waits for approval" },
  webhook_disabled: { scope: "system:read", meaning: "a webhook failed for good and is off" },
  api_key_expiring: { scope: "system:read", meaning: "an API key expires soon" },
  agent_lost: { scope: "agents:read", meaning: "an agent has been gone for a minute" },
  device_paired: { scope: "agents:read", meaning: "a device was paired" },
  integration_expired: {
    scope: "system:read",
    meaning: "an integration must be connected again",
  },
  standing_suspended: {
    scope: "system:read",
    meaning: "a repository, webhook, integration or ingest token lost rights that it acts with",
  },
  plan_limit_reached: {
    scope: "system:read",
    meaning: "requests were refused by the plan's limit",
  },
  old_key_value_used: {
    scope: "system:read",
    meaning: "the old value of a rotated API key changed the shield, policies or roles",
  },
  refresh_token_reused: {
    scope: null,
    meaning: "a used refresh token of yours came again, and its session was ended",
  },
  self_approval_requested: {
    scope: "system:read",
    meaning: "turning on self-approval waits for a second administrator",
  },
  self_approval_allowed: {
    scope: "system:read",
    meaning: "people may approve their own requests from now on",
  },
} as const satisfies Record<string, { scope: Scope | null; meaning: string }>;

export type NoticeType = keyof typeof NOTICES;

/** One thing that people are told of. */
export interface Notice {
  readonly type: NoticeType;
  readonly resource: { readonly type: string; readonly id: string };
  /** The agent that it concerns, where the resource is not the agent itself. */
  readonly agentId?: string;
  readonly details: Readonly<Record<string, unknown>>;
}
