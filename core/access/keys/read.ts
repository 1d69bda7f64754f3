import { apiKeys } from "../../../kv/records/api_key.ts";
import { mustActForPerson } from "../people/person.ts";
import type { Work } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import { listPageOfAll, pageOf, type Paging } from "../../../kv/store/paging.ts";
import { ownedKey, tenantOfKey } from "./owned.ts";
import { showKeyWithUse } from "./show.ts";
import type { Usage } from "../usage/usage.ts";

/** Filters of a list of keys. */
export interface KeyQuery extends Paging {
  readonly type?: "live" | "test" | undefined;
}

/**
 * The keys that the caller may see, newest first. From the live space a person sees keys of both spaces, a key
 * only those of its own unless it asks for the others.
 * @throws {Fault} FORBIDDEN
 */
export async function listApiKeys(
  work: Work,
  usage: Pick<Usage, "lastUsed">,
  { type, ...paging }: KeyQuery,
) {
  const { actor, db } = work;
  const all = actor.rights.has("system:read");
  if (!all) mustActForPerson(actor);
  if (!all && actor.kind === "api_key") return await listItself(work, usage, type, paging);
  const by = all ? {} : { index: "creator", prefix: [actor.userId] };
  const options = { ...paging, ...by, reverse: true };
  const spaces = typesShown(actor, type).map((type) => tenantOfKey(work, { type }));
  const { items, pagination } = await listPageOfAll(db, apiKeys, spaces, options);
  const shown = await Promise.all(items.map((key) => showKeyWithUse(work, usage, key)));
  return { api_keys: shown, pagination };
}

/** The live space also manages test keys; the test space does not see live keys. */
function typesShown({ kind, tenant: { space } }: Actor, asked: KeyQuery["type"]) {
  const seen = space === "live" ? ["live", "test"] as const : ["test"] as const;
  if (asked !== undefined) return seen.filter((type) => type === asked);
  return kind === "user" ? seen : [space];
}

/** The list for a key without system:read: the key itself. */
async function listItself(
  work: Work,
  usage: Pick<Usage, "lastUsed">,
  type: KeyQuery["type"],
  paging: Paging,
) {
  const own = await getApiKey(work, usage, work.actor.id);
  const { items, pagination } = pageOf(
    type === undefined || own.type === type ? [own] : [],
    paging,
  );
  return { api_keys: items, pagination };
}

/** One key, its value masked. @throws {Fault} NOT_FOUND, FORBIDDEN */
export async function getApiKey(work: Work, usage: Pick<Usage, "lastUsed">, id: string) {
  return await showKeyWithUse(work, usage, await ownedKey(work, id, "system:read"));
}
