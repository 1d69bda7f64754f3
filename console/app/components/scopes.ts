import type { Scope } from "../../../core/client/client.ts";

/** A group of things of which any number may be chosen. */
export interface Choices {
  readonly title: string;
  readonly options: readonly { readonly value: string; readonly about?: string | undefined }[];
}

/** Every right, and what it allows. */
export const SCOPES: Readonly<Record<Scope, string>> = {
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
};

export const SCOPE_LIST = Object.keys(SCOPES) as Scope[];

/** The rights that pass the filter, in groups by what they are about, for boxes to tick. */
export function scopeGroups(filter: (scope: Scope) => boolean): readonly Choices[] {
  const groups = new Map<string, Choices["options"]>();
  for (const scope of SCOPE_LIST.filter(filter)) {
    const [about] = scope.split(":") as [string];
    groups.set(about, [...groups.get(about) ?? [], { value: scope, about: SCOPES[scope] }]);
  }
  return [...groups].map(([title, options]) => ({ title, options }));
}
