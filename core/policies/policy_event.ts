import type { PolicyItem } from "../../kv/records/gitops.ts";
import type { NewEvent } from "../events/events.ts";

/** Who changed a policy; `user` is null for Relay itself, which acts on behalf of a person. */
export interface ChangedBy {
  readonly user: string | null;
  readonly on_behalf_of?: string;
}

/** The event of a policy that was created, updated or deleted. */
export function policyEvent(
  type: "policy_created" | "policy_updated" | "policy_deleted",
  { id, name, version, commit }: Pick<PolicyItem, "id" | "name" | "version" | "commit">,
  repository: string,
  by: ChangedBy,
  previous?: number,
): NewEvent {
  return {
    type,
    resource: { type: "policy", id },
    details: {
      policy_id: id,
      name,
      version: String(version),
      repository,
      commit,
      ...by,
      ...(previous !== undefined && { previous_version: String(previous) }),
    },
  };
}
