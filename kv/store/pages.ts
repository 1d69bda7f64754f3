import type { Collection, KeyParts, Row, Tenant } from "./collection.ts";
import type { Store } from "./store.ts";
import type { Found, ListOptions, Page, Reader } from "./reader.ts";

type Options = Omit<ListOptions, "cursor" | "offset">;

/** All records of a list, read in pages of `limit`. */
export async function* everyListed<T extends Row>(
  db: Reader,
  of: Collection<T>,
  tenant: Tenant,
  options: Options,
): AsyncGenerator<T> {
  let cursor: string | null = null;
  do {
    const page: Page<T> = await db.list(of, tenant, { ...options, cursor });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== null);
}

/** All records of a store-wide index, of every tenant, read in pages of `limit`. */
export async function* everyQueued<T extends Row>(
  store: Store,
  of: Collection<T>,
  index: string,
  options: Omit<Options, "index"> & { readonly before?: KeyParts },
): AsyncGenerator<Found<T>> {
  let cursor: string | null = null;
  do {
    const page: Page<Found<T>> = await store.queued(of, index, { ...options, cursor });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== null);
}
