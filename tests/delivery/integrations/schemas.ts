import { z } from "zod";

/** The parts of Slack's Block Kit that Relay's messages use. */
const Plain = (max: number) =>
  z.strictObject({ type: z.literal("plain_text"), text: z.string().min(1).max(max) });
export const SlackMessage = z.strictObject({
  channel: z.string().optional(),
  text: z.string().min(1).max(40_000),
  blocks: z.array(z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("header"), text: Plain(150) }),
    z.strictObject({
      type: z.literal("rich_text"),
      elements: z.array(z.strictObject({
        type: z.literal("rich_text_section"),
        elements: z.array(z.strictObject({
          type: z.literal("text"),
          text: z.string().min(1),
          style: z.strictObject({ bold: z.boolean().optional(), code: z.boolean().optional() }),
        })).min(1),
      })).min(1),
    }),
    z.strictObject({
      type: z.literal("actions"),
      elements: z.array(z.strictObject({
        type: z.literal("button"),
        action_id: z.string().min(1).max(255),
        text: Plain(75),
        style: z.enum(["primary", "danger"]).optional(),
        url: z.url().max(3000),
      })).min(1).max(25),
    }),
  ])).min(1).max(50),
});

/** sendMessage of the Bot API. */
export const TelegramMessage = z.strictObject({
  chat_id: z.union([z.int(), z.string().startsWith("@")]),
  text: z.string().min(1).max(4096),
  parse_mode: z.literal("HTML"),
  link_preview_options: z.strictObject({ is_disabled: z.boolean() }),
  reply_markup: z.strictObject({
    inline_keyboard: z.array(
      z.array(z.union([
        z.strictObject({
          text: z.string().min(1),
          callback_data: z.string().refine((text) => {
            const { length } = new TextEncoder().encode(text);
            return length >= 1 && length <= 64;
          }),
        }),
        z.strictObject({ text: z.string().min(1), url: z.url({ protocol: /^https$/ }) }),
      ])).min(1).max(8),
    ),
  }).optional(),
});

/** The Events API v2. */
export const PagerDutyEvent = z.discriminatedUnion("event_action", [
  z.strictObject({
    routing_key: z.string().length(32),
    event_action: z.literal("trigger"),
    dedup_key: z.string().min(1).max(255),
    client: z.string(),
    client_url: z.url(),
    links: z.array(z.strictObject({ href: z.url(), text: z.string() })),
    payload: z.strictObject({
      summary: z.string().min(1).max(1024),
      source: z.string().min(1),
      severity: z.enum(["critical", "error", "warning", "info"]),
      timestamp: z.iso.datetime(),
      component: z.string(),
      class: z.string(),
      custom_details: z.record(z.string(), z.string()),
    }),
  }),
  z.strictObject({
    routing_key: z.string().length(32),
    event_action: z.literal("resolve"),
    dedup_key: z.string().min(1).max(255),
  }),
]);
