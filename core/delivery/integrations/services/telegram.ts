import { z } from "zod";
import { escaped, jsonRequest, service } from "../service.ts";
import { TOPIC_NAMES } from "../topics.ts";
import { SecretText, Topics } from "./fields.ts";

/** A message may have 4096 characters without its markup, so one value never fills it. */
const VALUE_MAX = 2500;
const NAME_MAX = 100;
const TITLE_MAX = 300;

/** Messages in a chat. Their buttons decide approvals when the bot's webhook points to Relay. */
export const telegram = service({
  name: "Telegram",
  description:
    "Sends messages to a chat. Users who linked their account can decide requests with its " +
    "buttons.",
  category: "chat",
  config: z.strictObject({
    bot_token: SecretText.regex(/^\d+:[\w-]+$/, "must be a bot token, such as 123456:ABC-DEF"),
    chat_id: z.union([
      z.int(),
      z.string().regex(/^(-?\d{1,20}|@\w{1,64})$/, "must be an id or a @name"),
    ])
      .describe("The chat's id, or the @name of a channel."),
    topics: Topics(TOPIC_NAMES),
  }),
  secrets: ["bot_token"],
  notify({ bot_token, chat_id }, { message: { title, facts, pid, link } }) {
    const values = facts.map(([, value]) => escaped(value, VALUE_MAX) || "–");
    const lines = fitting(
      facts.map(([name], n) => `<b>${escaped(name, NAME_MAX)}</b>: <code>${values[n]}</code>`),
    );
    // No one-touch decision on a message that is cut.
    const whole = lines.length === facts.length && !values.some((value) => value.endsWith("…"));
    // Telegram rejects a message with a button whose URL it cannot reach.
    const open = link.startsWith("https://") ? [[{ text: "Open in Relay", url: link }]] : [];
    const decide = pid === null || !whole ? [] : [[
      { text: "Approve", callback_data: `/approve ${pid}` },
      { text: "Reject", callback_data: `/reject ${pid}` },
    ]];
    const inline_keyboard = [...decide, ...open];
    return jsonRequest(`https://api.telegram.org/bot${bot_token}/sendMessage`, {
      chat_id,
      text: [`<b>${escaped(title, TITLE_MAX)}</b>`, ...lines].join("\n"),
      parse_mode: "HTML",
      link_preview_options: { is_disabled: true },
      ...(inline_keyboard.length > 0 && { reply_markup: { inline_keyboard } }),
    });
  },
});

const TEXT_MAX = 3700;

/** The lines that fit into one message. */
function fitting(lines: readonly string[]): string[] {
  let left = TEXT_MAX;
  return lines.filter((line) => (left -= line.length) >= 0);
}
