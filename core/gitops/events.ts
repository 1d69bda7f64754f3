import type { PolicyItem } from "../../kv/records/gitops.ts";
import type { Happening } from "../events.ts";

/** What is told of a policy that has come, changed or gone; `user` is null for Relay itself. */
export function policyEvent(
  type: "policy_created" | "policy_updated" | "policy_deleted",
  { id, name, version, commit }: Pick<PolicyItem, "id" | "name" | "version" | "commit">,
  repository: string,
  user: string | null,
  previous?: number,
): Happening {
  return {
    type,
    resource: { type: "policy", id },
    details: {
      policy_id: id,
      name,
      version: String(version),
      repository,
      commit,
      user,
      ...(previous !== undefined && { previous_version: String(previous) }),
    },
  };
}
