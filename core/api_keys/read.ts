import { apiKeys } from "../../kv/records/api_key.ts";
import { mustNotBeBare } from "../account/person.ts";
import type { Work } from "../app.ts";
import { type Paging, showPage } from "../lists.ts";
import { ownedKey } from "./owned.ts";
import { showKeyWithUse } from "./show.ts";

/** The keys of the caller's space that it may see, newest first. @throws {Fault} FORBIDDEN */
export async function listApiKeys(work: Work, paging: Paging) {
  const { actor, db } = work;
  mustNotBeBare(actor);
  const all = actor.rights.has("system:read");
  if (!all && actor.kind === "api_key") return await listItself(work, paging);
  const own = { index: "creator", prefix: [actor.userId] };
  const page = await db.list(apiKeys, actor.tenant, { ...paging, ...!all && own, reverse: true });
  const total = all
    ? await db.count(apiKeys, actor.tenant)
    : await db.countBy(apiKeys, actor.tenant, "creator", [actor.userId]);
  const api_keys = await Promise.all(page.items.map((key) => showKeyWithUse(work, key)));
  return { api_keys, pagination: showPage(paging, page, total) };
}

/** What a key without system:read sees of the keys. */
async function listItself(work: Work, paging: Paging) {
  const api_keys = paging.offset === 0 ? [await getApiKey(work, work.actor.id)] : [];
  return { api_keys, pagination: showPage(paging, { items: api_keys, cursor: null }, 1) };
}

/** One key, its value masked. @throws {Fault} NOT_FOUND, FORBIDDEN */
export async function getApiKey(work: Work, id: string) {
  return await showKeyWithUse(work, await ownedKey(work, id, "system:read"));
}
