import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import type { Actor, Scope } from "../../identity/identity.ts";
import { type EventRow, isOwnEvent, RELAY_ACTOR } from "../emit.ts";
import { RESOURCE_READERS, type ResourceType } from "../types/resources.ts";
import type { Message, StartedCommand } from "./message.ts";

/** The name of changes in a stream's type filter. */
export const CHANGED = "changed";

/** A resource that an event changed. */
export interface Change {
  readonly type: typeof CHANGED;
  readonly resource: { readonly type: ResourceType; readonly id: string };
  /** Who made the change. */
  readonly actor: string;
  readonly agentId: string | undefined;
  readonly thread: string | undefined;
  readonly severity: "info";
}

/**
 * Event types that change nothing. Without them here, a reader that fetches again at each change would cause the next
 * one by its own reading.
 */
const READS: ReadonlySet<string> = new Set([
  "api_key_used",
  "audit_checkpoint_read",
  "audit_exported",
  "audit_proof_read",
  "audit_read",
  "compliance_evidence_taken",
  "compliance_report_read",
]);

export const isChange = (type: string): boolean => !READS.has(type);

const NO_CHANGES: readonly Change[] = [];

/** What each event of a tenant's log changed. */
export const changesIn = (tenant: Tenant, events: readonly Sequenced[]) =>
  events.map(({ type, json }) =>
    isChange(type) ? changesOf(tenant, type, JSON.parse(json)) : NO_CHANGES
  );

/** The resource of an event, the others that its details name, and the audit log, which has one row more. */
function changesOf(tenant: Tenant, type: string, row: EventRow): readonly Change[] {
  const changed = (of: ResourceType, id: unknown): readonly Change[] =>
    typeof id !== "string" ? NO_CHANGES : [{
      type: CHANGED,
      resource: { type: of, id },
      actor: row.actor,
      agentId: row.agent_id,
      thread: row.thread,
      severity: "info",
    }];
  const log = changed("audit_log", tenantKey(tenant));
  // Callers choose the details of their own types.
  if (!isOwnEvent(type)) return log;
  const { agents, command_id, parent_id, pid, upgrade_id } = row.details;
  return [
    ...changed(row.resource_type as ResourceType, row.resource_id),
    // A request for approval that covers several agents names their fleet command.
    ...changed(agents === undefined ? "command" : "fleet_command", command_id),
    ...changed("fleet_command", parent_id),
    ...changed("approval", pid),
    ...changed("upgrade", upgrade_id),
    ...changed("alert", row.thread),
    ...log,
  ];
}

/** The change that a command was sent to its agent. */
export const changeOfStart = ({ id, agent_id, actor, thread }: StartedCommand): Change => ({
  type: CHANGED,
  resource: { type: "command", id },
  actor,
  agentId: agent_id,
  thread,
  severity: "info",
});

/** The change that an attempt of a webhook's delivery ended. */
export const changeOfAttempt = (webhookId: string): Change => ({
  type: CHANGED,
  resource: { type: "webhook", id: webhookId },
  actor: RELAY_ACTOR.id,
  agentId: undefined,
  thread: undefined,
  severity: "info",
});

/** Whether an actor may read the changed resource. */
export function mayReadChange({ id, rights, userId }: Actor, change: Change): boolean {
  const { actor, resource } = change;
  // A row of an earlier version may have a type that no longer exists.
  const readers: readonly (Scope | "own")[] = RESOURCE_READERS[resource.type] ?? [];
  const isOwn = actor === id || resource.type === "user" && resource.id === userId;
  return readers.some((reader) => reader === "own" ? isOwn : rights.has(reader));
}

/** Says that a resource changed; null says that any may have. */
export const announceChange = (change: Change | null): Message => ({
  kind: CHANGED,
  id: null,
  json: JSON.stringify({
    resource_type: change?.resource.type ?? null,
    resource_id: change?.resource.id ?? null,
  }),
});
