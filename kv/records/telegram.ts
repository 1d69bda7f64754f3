import { z } from "zod";
import { collection } from "../store/collection.ts";
import { AlsoOf } from "./fields.ts";

/** A Telegram account that a person linked through one bot. The holder of another bot's secret cannot use it. */
export const TelegramLinkRecord = z.strictObject({
  id: z.string(),
  /** The ingest token of the bot. */
  token_id: z.string(),
  /** Telegram's id of the account, in decimal. */
  telegram_id: z.string(),
  username: z.string().nullable(),
  user_id: z.string(),
  /** Who else may have seen the code that linked it. */
  also_of: AlsoOf,
  created_at_ms: z.number(),
});
export type TelegramLinkRecord = z.infer<typeof TelegramLinkRecord>;

/** In the live space. */
export const telegramLinks = collection({
  name: "telegram_links",
  schema: TelegramLinkRecord,
  unique: { account: (link) => [link.token_id, link.telegram_id] },
  index: { user: (link) => [link.user_id] },
});

/** The code that links an account. A person has at most one, so its id is the person's. */
const TelegramCodeRecord = z.strictObject({
  id: z.string(),
  /** SHA-256 of the code, hex. */
  hash: z.string(),
  /** The makers of the bots that it may be sent to, as known when it is made. */
  also_of: AlsoOf,
  expires_at_ms: z.number(),
});

export const telegramCodes = collection({
  name: "telegram_codes",
  schema: TelegramCodeRecord,
  unique: { hash: (code) => [code.hash] },
  expiresAt: (code) => code.expires_at_ms,
});

/** A deleted bot, kept while a code that it may have seen is valid. */
const DeletedBotRecord = z.strictObject({
  /** The ingest token's id. */
  id: z.string(),
  /** Who may have read what it received. */
  makers: AlsoOf,
  gone_at_ms: z.number(),
  expires_at_ms: z.number(),
});

/** In the live space. */
export const deletedBots = collection({
  name: "telegram_gone_bots",
  schema: DeletedBotRecord,
  expiresAt: (bot) => bot.expires_at_ms,
});

/** An answered update. A repetition gets the same answer and has no effect. */
const TelegramUpdateRecord = z.strictObject({
  /** The ingest token's id and Telegram's number. */
  id: z.string(),
  answer: z.string(),
  expires_at_ms: z.number(),
});

export const telegramUpdates = collection({
  name: "telegram_updates",
  schema: TelegramUpdateRecord,
  expiresAt: (update) => update.expires_at_ms,
});
