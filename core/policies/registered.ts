import { everyQueued } from "../../kv/store/iterate.ts";
import { repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Found } from "../../kv/store/reader.ts";

/** Registrations, over all organizations, that one push is offered to: each has a signature checked. */
const MATCHES_MAX = 1_000;
const PAGE = 50;
/** Addresses of one push that are looked up. */
export const NAMES_MAX = 8;
/** An address, a path or a host's name for its event: what is longer is none that is registered. */
export const KEY_CHARS_MAX = 512;

/** What a push says of the repository that it is for. */
export interface NamedRepository {
  /** Its addresses, host and path. */
  readonly addresses: readonly string[];
  /** Its path alone, where no host is told. */
  readonly path: string | null;
}

/** The registrations, in every organization, that a push may be about. */
export async function* registered(
  store: Store,
  { addresses, path }: NamedRepository,
): AsyncGenerator<Found<RepositoryRecord>> {
  const seen = new Set<string>();
  const keys = addresses.slice(0, NAMES_MAX).map((key) => ["pushed", key] as const);
  for (const [index, key] of path === null ? keys : [["pushed_path", path] as const]) {
    if (key === "" || key.length > KEY_CHARS_MAX) continue;
    const options = { prefix: [key.toLowerCase()], limit: PAGE };
    for await (const one of everyQueued(store, repositories, index, options)) {
      if (seen.has(one.record.id)) continue;
      if (seen.size === MATCHES_MAX) return;
      seen.add(one.record.id);
      yield one;
    }
  }
}
