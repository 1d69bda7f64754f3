import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import { everyListed } from "../../kv/store/iterate.ts";
import { organizations } from "../../kv/records/organization.ts";
import type { Store } from "../../kv/store/store.ts";

const PAGE = 100;

/** The spaces of one organization, or of all organizations. */
export async function* tenantsOf(
  store: Store,
  organization: string | null = null,
): AsyncGenerator<Tenant> {
  if (organization !== null) return yield* spacesOf(organization);
  for await (const { id } of everyListed(store, organizations, SYSTEM, { limit: PAGE })) {
    yield* spacesOf(id);
  }
}

function* spacesOf(org: string): Generator<Tenant> {
  yield { org, space: "live" };
  yield { org, space: "test" };
}
