import { organizations } from "../records/organization.ts";
import { type Row, SYSTEM, type Tenant } from "../store/collection.ts";

/** Both spaces of every organization. */
export async function* everyTenant(kv: Deno.Kv): AsyncGenerator<Tenant> {
  const accounts = kv.list<Row>({ prefix: [SYSTEM.org, SYSTEM.space, organizations.name] });
  for await (const { value: { id: org } } of accounts) {
    yield { org, space: "live" };
    yield { org, space: "test" };
  }
}
