import { z } from "zod";
import { findIngestToken } from "../core/agents/agents.ts";
import {
  createLinkCode,
  deleteLink,
  listLinks,
  receiveTelegram,
} from "../core/delivery/delivery.ts";
import { BODY_BYTES_MAX } from "./http/body.ts";
import { route } from "./call/route.ts";
import { Accepted, anything, IdParams, listOf, PageQuery, Timestamp } from "./schemas/schemas.ts";

const TelegramLink = z.object({
  id: z.string(),
  token_id: z.string().meta({ description: "The bot's ingest token." }),
  telegram_id: z.string(),
  username: z.string().nullable(),
  created_at: Timestamp,
}).meta({ id: "TelegramLink" });

export const telegramRoutes = [
  route({
    id: "receivers.telegram",
    method: "POST",
    path: "/api/tg/webhook",
    summary: "Receive an update from a Telegram bot",
    description:
      "Takes a Telegram Update with /approve, /reject or /link, or a pressed button. The bot's " +
      "`secret_token` is an ingest token, which Telegram sends as " +
      "`X-Telegram-Bot-Api-Secret-Token`.",
    access: { public: "Telegram presents the bot's secret; without it nothing happens" },
    effect: "steps",
    audit: { byRule: "approval_resolved, approval_given, telegram_linked or ingest_refused" },
    ignoresUnknownQuery: true,
    largerBody: {
      bytesMax: BODY_BYTES_MAX,
      unless: "it comes with the secret of a bot",
      maySend: async ({ relay, request }) =>
        await findIngestToken(relay, request.telegramSecret, "telegram") !== null,
    },
    body: z.looseObject({
      update_id: anything("In an Update: its number, which identifies repetitions."),
      message: anything("In an Update: the message. In the short form: its text."),
      callback_query: anything("In an Update: the pressed button."),
      chat_id: anything("In the short form: the private chat."),
    }),
    success: {
      status: 200,
      body: z.union([
        Accepted,
        z.object({ method: z.literal("sendMessage"), chat_id: z.int(), text: z.string() })
          .meta({ id: "TelegramMessage" }),
        z.object({
          method: z.literal("answerCallbackQuery"),
          callback_query_id: z.string(),
          text: z.string(),
          show_alert: z.literal(true),
        }).meta({ id: "TelegramAnswer" }),
      ]),
    },
    accepted: "Accepted; the same with a valid secret, an invalid one or none.",
    faults: [],
    handle: (work, { body }, { policyCache }) => receiveTelegram(work, policyCache, body),
  }),
  route({
    id: "telegram_links.create",
    method: "POST",
    path: "/api/shield/telegram-links",
    summary: "Create a code that links your Telegram account",
    description:
      "Send the `message` to the bot within ten minutes. Only signed-in users can create a " +
      "code.",
    access: { scope: "approvals:write" },
    liveOnly: true,
    effect: "write",
    noStore: true,
    audit: { none: "a code alone links nothing; telegram_linked records its use" },
    body: z.strictObject({}),
    success: {
      status: 201,
      body: z.object({ code: z.string(), message: z.string(), expires_at: Timestamp }),
    },
    faults: ["FORBIDDEN"],
    handle: (work) => createLinkCode(work),
  }),
  route({
    id: "telegram_links.list",
    method: "GET",
    path: "/api/shield/telegram-links",
    summary: "List your Telegram links",
    access: { signedIn: true },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("telegram_links", TelegramLink) },
    faults: ["FORBIDDEN"],
    handle: (work, { query }) => listLinks(work, query),
  }),
  route({
    id: "telegram_links.delete",
    method: "DELETE",
    path: "/api/shield/telegram-links/{id}",
    summary: "Delete one of your Telegram links",
    description: "The linked account can no longer decide requests.",
    access: { signedIn: true },
    effect: "write",
    liveOnly: true,
    audit: {
      event: "telegram_unlinked",
      resource: "telegram_link",
      id: ({ id }) => id,
      details: ({ telegram_id, user_id }) => ({ telegram_id, user_id }),
    },
    params: IdParams,
    success: {
      status: 204,
      about: z.object({ id: z.string(), telegram_id: z.string(), user_id: z.string() }),
    },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }) => deleteLink(work, params.id),
  }),
];
