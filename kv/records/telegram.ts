import { z } from "zod";
import { collection } from "../store/collection.ts";
import { AlsoOf } from "./fields.ts";

/** A Telegram account that a person linked, through one bot: the holder of another bot's secret cannot use it. */
export const TelegramLinkRecord = z.strictObject({
  id: z.string(),
  /** The ingest token of the bot. */
  token_id: z.string(),
  /** Telegram's id of the account, in decimal. */
  telegram_id: z.string(),
  username: z.string().nullable(),
  user_id: z.string(),
  /** Who beside that person may have seen the code that linked it. */
  also_of: AlsoOf,
  created_at_ms: z.number(),
});
export type TelegramLinkRecord = z.infer<typeof TelegramLinkRecord>;

/** Lives in the live space, as the person does. */
export const telegramLinks = collection({
  name: "telegram_links",
  schema: TelegramLinkRecord,
  unique: { account: (link) => [link.token_id, link.telegram_id] },
  index: { user: (link) => [link.user_id] },
});

/** What a person types to link an account; one at a time, so its id is the person's. */
const TelegramCodeRecord = z.strictObject({
  id: z.string(),
  /** SHA-256 of the code, hex. */
  hash: z.string(),
  /** Whose bots it may be sent to, as far as they are known when it is made. */
  also_of: AlsoOf,
  expires_at_ms: z.number(),
});

export const telegramCodes = collection({
  name: "telegram_codes",
  schema: TelegramCodeRecord,
  unique: { hash: (code) => [code.hash] },
  expiresAt: (code) => code.expires_at_ms,
});

/** A bot that is gone, while a code that it may have been shown still works. */
const GoneBotRecord = z.strictObject({
  /** The ingest token's. */
  id: z.string(),
  /** Who may have read what it was shown. */
  makers: AlsoOf,
  gone_at_ms: z.number(),
  expires_at_ms: z.number(),
});

/** Lives in the live space, as codes do. */
export const goneBots = collection({
  name: "telegram_gone_bots",
  schema: GoneBotRecord,
  expiresAt: (bot) => bot.expires_at_ms,
});

/** An update that was answered: what comes again gets the same answer and does nothing. */
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
