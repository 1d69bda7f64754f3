import { everyQueued } from "../../../kv/store/iterate.ts";
import { repositories, type RepositoryRecord } from "../../../kv/records/gitops.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Found } from "../../../kv/store/reader.ts";

/** Fields of a host's repository object that hold the addresses from which it is cloned. */
export const CLONE_FIELDS = ["clone_url", "git_http_url", "ssh_url", "git_ssh_url"];
/** Fields of the same object that hold its other addresses. */
export const PAGE_FIELDS = ["html_url", "web_url", "http_url", "url"];

/** The most registrations, over all organizations, that one push is checked against: each costs a signature. */
const MATCHES_MAX = 1_000;
const PAGE = 50;
/** The most addresses of one push that are looked up. */
export const NAMES_MAX = 8;
/** Registered addresses and paths are shorter than this. */
export const KEY_CHARS_MAX = 512;

/** The names under which a push identifies its repository. */
export interface NamedRepository {
  /** Host and path, in every spelling that the push gives. */
  readonly addresses: readonly string[];
  /** The path alone, when the push names no host. */
  readonly path: string | null;
}

/** The registrations, in every organization, that a push may concern. */
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
