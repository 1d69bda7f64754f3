/** Every right, as `resource:action`, and what it allows. */
export const SCOPES = {
  "agents:read": "view agents and their status",
  "agents:write": "execute commands through agents",
  "agents:admin": "full agent management: register, delete, restart",
  "approvals:read": "view the approval queue",
  "approvals:write": "approve or reject commands",
  "policy:read": "view policies",
  "policy:write": "create and change policies",
  "audit:read": "view the audit log",
  "audit:write": "register audit events",
  "secrets:read": "read secrets without revealing values",
  "catalog:read": "view the service catalog",
  "patterns:read": "view patterns",
  "patterns:write": "apply patterns to policies",
  "compliance:read": "view compliance reports",
  "system:read": "system status, metrics",
  "system:write": "change configuration",
} as const;

export type Scope = keyof typeof SCOPES;

/** Every scope, in the order of the table. */
export const SCOPE_LIST = Object.keys(SCOPES) as [Scope, ...Scope[]];

const readsBut = (without: Scope) =>
  SCOPE_LIST.filter((scope) => scope.endsWith(":read") && scope !== without);

/** The built-in roles, which exist in every organization and never change. */
export const BUILT_IN_ROLES: Readonly<Record<string, readonly Scope[]>> = {
  owner: SCOPE_LIST,
  admin: SCOPE_LIST,
  operator: [
    "agents:read",
    "agents:write",
    "approvals:read",
    "approvals:write",
    "policy:read",
    "audit:read",
    "compliance:read",
    "catalog:read",
    "patterns:read",
    "system:read",
  ],
  viewer: readsBut("secrets:read"),
};
