import { hash } from "node:crypto";
import { type IngestTokenRecord, ingestTokens } from "../../../../kv/records/ingest.ts";
import {
  telegramCodes,
  type TelegramLinkRecord,
  telegramLinks,
} from "../../../../kv/records/telegram.ts";
import {
  homeOf,
  makeSecretText,
  mustActForPerson,
  peopleBehind,
  unite,
  without,
} from "../../../access/access.ts";
import type { Work, Writing } from "../../../work/work.ts";
import type { Actor } from "../../../identity/identity.ts";
import { emit } from "../../../events/events.ts";
import { Fault } from "../../../fault/fault.ts";
import { listPage, type Paging } from "../../../../kv/store/paging.ts";
import { iso } from "../../../codec/codec.ts";
import { botMakers, CODE_TTL_MS, deletedBotMakers } from "../../../agents/agents.ts";
import type { Sender } from "./update.ts";

/** 80 bits, which nobody guesses within ten minutes. */
const CODE_BYTES = 10;
const LINKS_MAX = 20;

/**
 * Creates the code that links the caller's Telegram account, and voids an earlier one.
 * @throws {Fault} FORBIDDEN for API keys, which are no person
 */
export async function createLinkCode({ ports, actor, tx }: Writing) {
  mustBePerson(actor);
  const { clock, entropy } = ports;
  const code = makeSecretText("", CODE_BYTES, entropy);
  const expires_at_ms = clock.now() + CODE_TTL_MS;
  const people = unite(await peopleBehind(tx, actor), await botMakers(tx, actor.tenant.org));
  const also_of = without(people, actor.userId);
  const record = { id: actor.userId, hash: hash("sha256", code), also_of, expires_at_ms };
  tx.put(telegramCodes, homeOf(actor.tenant.org), record);
  return { code, message: `/link ${code}`, expires_at: iso(expires_at_ms) };
}

/** Only a person may link: the link decides as that person for as long as it exists. */
function mustBePerson(actor: Actor): void {
  mustActForPerson(actor);
  if (actor.kind === "user") return;
  throw new Fault("FORBIDDEN", "Only a signed-in user can link an account. Sign in and try again.");
}

/** The caller's own links, oldest first. @throws {Fault} FORBIDDEN for an API key */
export async function listLinks({ db, actor }: Work, paging: Paging) {
  mustBePerson(actor);
  const options = { ...paging, index: "user", prefix: [actor.userId] };
  const home = homeOf(actor.tenant.org);
  const { items, pagination } = await listPage(db, telegramLinks, home, options);
  return { telegram_links: items.map(showLink), pagination };
}

/** Ends one of the caller's own links before this answers. @throws {Fault} NOT_FOUND, FORBIDDEN */
export async function deleteLink({ actor, tx }: Writing, id: string) {
  mustBePerson(actor);
  const link = await tx.get(telegramLinks, homeOf(actor.tenant.org), id);
  if (link === null || link.user_id !== actor.userId) {
    throw new Fault("NOT_FOUND", "There is no such link.");
  }
  tx.delete(telegramLinks, homeOf(actor.tenant.org), id);
  return { id, telegram_id: link.telegram_id, user_id: link.user_id };
}

/**
 * Links an account to the person whose code it sent, and removes its earlier link. Every bot that existed since
 * the code was created may have seen the code.
 */
export async function linkAccount(
  work: Writing,
  token: IngestTokenRecord,
  { id: telegramId, username }: Sender,
  code: string,
): Promise<string> {
  const { ports, actor, tx } = work;
  const home = homeOf(actor.tenant.org);
  const known = await tx.find(telegramCodes, home, "hash", [hash("sha256", code)]);
  const alive = await tx.get(ingestTokens, actor.tenant, token.id) !== null;
  if (known === null || !alive) return "This code is not valid. Create a new one in Relay.";
  if (await tx.countBy(telegramLinks, home, "user", [known.id]) >= LINKS_MAX) {
    return `You have already linked ${LINKS_MAX} accounts. Delete one of the links first.`;
  }
  tx.delete(telegramCodes, home, known.id);
  const madeMs = known.expires_at_ms - CODE_TTL_MS;
  const makers = [
    await botMakers(tx, home.org),
    await deletedBotMakers(tx, home.org, madeMs),
  ];
  const before = await tx.find(telegramLinks, home, "account", [token.id, telegramId]);
  if (before !== null) tx.delete(telegramLinks, home, before.id);
  const link = tx.insert(telegramLinks, home, {
    id: ports.entropy.id("tgl"),
    token_id: token.id,
    telegram_id: telegramId,
    username,
    user_id: known.id,
    also_of: without(unite(known.also_of, ...makers), known.id),
    created_at_ms: ports.clock.now(),
  });
  emit({ ...work, actor: { id: known.id } }, tx, home, {
    type: "telegram_linked",
    resource: { type: "telegram_link", id: link.id },
    details: {
      telegram_id: telegramId,
      username,
      token_id: token.id,
      replaced: before?.id ?? null,
    },
  });
  return "This account is linked. Send /approve or /reject with the id of a blocked process.";
}

function showLink({ id, token_id, telegram_id, username, created_at_ms }: TelegramLinkRecord) {
  return { id, token_id, telegram_id, username, created_at: iso(created_at_ms) };
}
