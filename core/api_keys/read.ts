import { apiKeys } from "../../kv/records/api_key.ts";
import { mustNotBeBare } from "../account/person.ts";
import type { Work } from "../app.ts";
import { listPage, pageOf, type Paging } from "../lists.ts";
import { ownedKey } from "./owned.ts";
import { showKeyWithUse } from "./show.ts";

/** The keys of the caller's space that it may see, newest first. @throws {Fault} FORBIDDEN */
export async function listApiKeys(work: Work, paging: Paging) {
  const { actor, db } = work;
  mustNotBeBare(actor);
  const all = actor.rights.has("system:read");
  if (!all && actor.kind === "api_key") return await listItself(work, paging);
  const by = all ? {} : { index: "creator", prefix: [actor.userId] };
  const options = { ...paging, ...by, reverse: true };
  const { items, pagination } = await listPage(db, apiKeys, actor.tenant, options);
  return { api_keys: await Promise.all(items.map((key) => showKeyWithUse(work, key))), pagination };
}

/** What a key without system:read sees of the keys. */
async function listItself(work: Work, paging: Paging) {
  const { items, pagination } = pageOf([await getApiKey(work, work.actor.id)], paging);
  return { api_keys: items, pagination };
}

/** One key, its value masked. @throws {Fault} NOT_FOUND, FORBIDDEN */
export async function getApiKey(work: Work, id: string) {
  return await showKeyWithUse(work, await ownedKey(work, id, "system:read"));
}
