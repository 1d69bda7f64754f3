import { z } from "zod";

/** The sender of a message, as Telegram states it. */
export interface Sender {
  /** Decimal. */
  readonly id: string;
  readonly username: string | null;
}

/** A command from a chat. */
export interface ChatMessage {
  /** Null in the short form. */
  readonly updateId: number | null;
  readonly chatId: number;
  /** The id of a pressed button's query, which the answer names; null for a text. */
  readonly callbackId: string | null;
  readonly sender: Sender;
  readonly command: ChatCommand;
}

export type ChatCommand =
  | { readonly name: "approve" | "reject"; readonly pid: string; readonly reason: string | null }
  | { readonly name: "link"; readonly code: string };

const Int = z.int();
const Account = z.looseObject({
  id: Int.positive(),
  is_bot: z.boolean().default(false),
  username: z.string().max(64).optional(),
});

/** The parts of Telegram's Update that are read. Updates of other kinds have neither member. */
const Update = z.looseObject({
  update_id: Int.min(0),
  message: z.looseObject({
    from: Account.optional(),
    chat: z.looseObject({ id: Int }),
    text: z.string().max(4096).optional(),
    /** Present when a group or channel is the sender, or the text is somebody else's. */
    sender_chat: z.unknown().optional(),
    forward_origin: z.unknown().optional(),
    forward_date: z.unknown().optional(),
    via_bot: z.unknown().optional(),
  }).optional(),
  /** A pressed button below a message of the bot. */
  callback_query: z.looseObject({
    id: z.string().max(64),
    from: Account,
    message: z.looseObject({ chat: z.looseObject({ id: Int }) }).optional(),
    data: z.string().max(64).optional(),
  }).optional(),
});

/** The API's own short form, from a private chat, whose id is its person's. */
const Short = z.looseObject({ chat_id: z.union([Int, z.string()]), message: z.string().max(4096) });

/** Both forms of the body. */
export const TelegramBody = z.union([Update, Short]);
export type TelegramBody = z.infer<typeof TelegramBody>;

/**
 * The command of a message, or null. Only a person's own words count, not those of a bot, an anonymous
 * administrator or a channel, and no forwarded ones.
 */
export function readUpdate(body: TelegramBody): ChatMessage | null {
  if (isShort(body)) return readShort(body);
  const { update_id: updateId, message, callback_query } = body;
  if (callback_query !== undefined) return readPressed(updateId, callback_query);
  if (message?.from === undefined || message.text === undefined || message.from.is_bot) return null;
  const { sender_chat, forward_origin, forward_date, via_bot } = message;
  if ([sender_chat, forward_origin, forward_date, via_bot].some((mark) => mark !== undefined)) {
    return null;
  }
  const command = readCommand(message.text);
  if (command === null) return null;
  const sender = senderOf(message.from);
  return { updateId, chatId: message.chat.id, callbackId: null, sender, command };
}

/** The command of a pressed button. Telegram authenticates who pressed it. */
function readPressed(
  updateId: number,
  { id, from, message, data = "" }: NonNullable<z.infer<typeof Update>["callback_query"]>,
): ChatMessage | null {
  const command = readCommand(data);
  if (from.is_bot || message === undefined || command === null || command.name === "link") {
    return null;
  }
  return { updateId, chatId: message.chat.id, callbackId: id, sender: senderOf(from), command };
}

const senderOf = ({ id, username }: z.infer<typeof Account>): Sender => ({
  id: `${id}`,
  username: username?.toWellFormed() ?? null,
});

const isShort = (body: TelegramBody): body is z.infer<typeof Short> =>
  typeof body.message === "string";

function readShort({ chat_id, message }: z.infer<typeof Short>): ChatMessage | null {
  const chatId = Number(chat_id);
  const command = readCommand(message);
  if (command === null || !Number.isSafeInteger(chatId) || chatId <= 0) return null;
  const sender = { id: `${chatId}`, username: null };
  return { updateId: null, chatId, callbackId: null, sender, command };
}

const COMMAND = /^\/(approve|reject|link)(?:@\w{1,64})?\s+([\x21-\x7e]{1,128})(?:\s+([^]*))?$/;
const REASON_CHARS_MAX = 1000;

function readCommand(text: string): ChatCommand | null {
  const match = COMMAND.exec(text.trim());
  if (match === null) return null;
  const [, name, argument, rest = ""] = match;
  if (name === "link") return { name, code: argument! };
  const reason = rest.slice(0, REASON_CHARS_MAX).toWellFormed();
  return { name: name as "approve" | "reject", pid: argument!, reason: reason || null };
}
