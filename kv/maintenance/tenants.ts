import { SYSTEM, type Tenant } from "../store/collection.ts";
import { organizations } from "../records/organization.ts";

/** Both spaces of every organization in a store. */
export async function* everyTenant(kv: Deno.Kv): AsyncGenerator<Tenant> {
  const prefix = [SYSTEM.org, SYSTEM.space, organizations.name];
  for await (const { value } of kv.list<{ id: string }>({ prefix })) {
    for (const space of ["live", "test"] as const) yield { org: value.id, space };
  }
}
