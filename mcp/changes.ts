import type { EventRow } from "../core/events/events.ts";
import type { Sequenced } from "../kv/log/log.ts";

/** True for an event that records a read and changes nothing. */
const isRead = (type: string) => type === "api_key_used" || type === "audit_read";

/** The ids of the commands that these events concern. A task is a command. */
export function changedCommands(events: readonly Sequenced[]): string[] {
  const others = events.filter(({ type }) => type !== "api_key_used");
  const ids = others.map(({ json }) => (JSON.parse(json) as EventRow).details.command_id);
  return [...new Set(ids.filter((id): id is string => typeof id === "string"))];
}

/** The addresses of the resources that show an event or what it changed. */
export function changedResources({ type, json }: Sequenced): string[] {
  // A client that reads again at each notification would otherwise never stop.
  if (isRead(type)) return [];
  const always = ["relay://events", "relay://audit"];
  const kind = type.startsWith("agent_")
    ? "agents"
    : type.startsWith("approval_")
    ? "approvals"
    : type.startsWith("policy_") && type !== "policy_confirmed"
    ? "policies"
    : null;
  if (kind === null) return always;
  const { agent_id, resource_id } = JSON.parse(json) as EventRow;
  const id = kind === "agents" ? agent_id ?? resource_id : resource_id;
  return [...always, `relay://${kind}`, `relay://${kind}/${id}`];
}
