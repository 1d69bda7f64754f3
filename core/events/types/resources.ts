import type { Scope } from "../../identity/identity.ts";

/**
 * The resource types of events, each with who may read such a resource: holders of any of these rights; `own` is who
 * made the change, and the user whom it is about. Types without readers have no rows that the API shows. None may be
 * removed, because stored rows keep theirs.
 */
export const RESOURCE_READERS = {
  account: ["system:read"],
  agent: ["agents:read"],
  alert: ["system:read"],
  alert_source: ["system:read"],
  api_key: ["system:read", "own"],
  approval: ["approvals:read"],
  audit_log: ["audit:read", "system:read"],
  backup: ["policy:read"],
  command: ["agents:read"],
  configuration: ["system:read"],
  device: ["agents:read"],
  endpoint: [],
  external: [],
  fleet_command: ["agents:read"],
  ingest_token: ["system:read"],
  installation: [],
  integration: ["system:read"],
  invitation: ["system:read"],
  limits: ["system:read"],
  mcp_grant: ["system:read", "own"],
  mcp_session: ["agents:read"],
  notification: [],
  organization: ["system:read"],
  pairing_code: ["agents:read"],
  plan: ["system:read"],
  policy: ["policy:read"],
  report: ["compliance:read", "system:read"],
  repository: ["policy:read"],
  restore: ["policy:read"],
  role: ["system:read"],
  session: ["own"],
  shield: ["patterns:read", "system:read"],
  telegram_link: ["own"],
  upgrade: ["agents:read"],
  user: ["system:read", "own"],
  webhook: ["system:read"],
} as const satisfies Record<string, readonly (Scope | "own")[]>;

export type ResourceType = keyof typeof RESOURCE_READERS;

export const RESOURCE_TYPES = Object.keys(RESOURCE_READERS) as [ResourceType, ...ResourceType[]];
