import type { Scope } from "./scopes.ts";

/** What people are told of, and the right that one needs to be shown it. */
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
  plan_limit_reached: {
    scope: "system:read",
    meaning: "requests were refused by the plan's limit",
  },
} as const satisfies Record<string, { scope: Scope; meaning: string }>;

export type NoticeType = keyof typeof NOTICES;

/** One thing that people are told of. */
export interface Notice {
  readonly type: NoticeType;
  readonly resource: { readonly type: string; readonly id: string };
  readonly details: Readonly<Record<string, unknown>>;
}
