import { SYSTEM, type Tenant } from "../kv/collection.ts";
import { type OrganizationRecord, organizations } from "../kv/records/organization.ts";
import type { Page, Store } from "../kv/store.ts";

const PAGE = 100;

/** The spaces of one organization, or of all of them. */
export async function* tenantsOf(
  store: Store,
  organization: string | null = null,
): AsyncGenerator<Tenant> {
  if (organization !== null) return yield* spacesOf(organization);
  let cursor: string | null = null;
  do {
    const page: Page<OrganizationRecord> = await store.list(organizations, SYSTEM, {
      limit: PAGE,
      cursor,
    });
    for (const { id } of page.items) yield* spacesOf(id);
    cursor = page.cursor;
  } while (cursor !== null);
}

function* spacesOf(org: string): Generator<Tenant> {
  yield { org, space: "live" };
  yield { org, space: "test" };
}
