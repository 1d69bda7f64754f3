import type { Tenant } from "../../../kv/store/collection.ts";
import { agents } from "../../../kv/records/agent.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import { users } from "../../../kv/records/user.ts";
import { homeOf } from "../../access/access.ts";
import type { ReportNeeds } from "./scan.ts";

/** The names of users, keys and agents that still exist, by id. Other ids are left out. */
export async function namesOf(
  { store }: Pick<ReportNeeds, "store">,
  tenant: Tenant,
  ids: ReadonlySet<string>,
): Promise<Record<string, string>> {
  const find: Readonly<Record<string, (id: string) => Promise<string | undefined>>> = {
    usr: async (id) => (await store.get(users, homeOf(tenant.org), id))?.email,
    key: async (id) => (await store.get(apiKeys, tenant, id))?.name,
    agt: async (id) => (await store.get(agents, tenant, id))?.name,
  };
  const names: Record<string, string> = {};
  for (const id of ids) {
    const name = await find[id.split("_")[0]!]?.(id);
    if (name !== undefined) names[id] = name;
  }
  return names;
}
