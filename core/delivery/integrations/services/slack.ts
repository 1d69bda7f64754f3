import { z } from "zod";
import { cut, jsonRequest, type Message, service } from "../service.ts";
import { TOPIC_NAMES } from "../topics.ts";
import { Address, CLIENT, exactlyOne, SecretText, Short, Topics } from "./fields.ts";

const API = "https://slack.com/api";
/** The limits of Block Kit. */
const HEADER_MAX = 150;
const VALUE_MAX = 2500;
const FACTS_MAX = 10;
const BUTTON_URL_MAX = 3000;
/** The kept length of an error, which may not come from Slack. */
const ERROR_MAX = 100;
/** Slack's errors for a token that no longer works, so it needs no revocation. */
const ENDED = ["token_revoked", "invalid_auth"];

/** Messages in a channel, by an incoming webhook, a bot token or OAuth. */
export const slack = service({
  name: "Slack",
  description: "Sends messages to a channel, with a button to open them in Relay.",
  category: "chat",
  config: z.strictObject({
    webhook_url: Address.optional().describe("The address of an incoming webhook."),
    bot_token: SecretText.optional().describe("A bot token with `chat:write`."),
    channel: Short.optional().describe(
      "The channel's id or name; not used with an incoming webhook.",
    ),
    ...CLIENT,
    topics: Topics(TOPIC_NAMES),
  }).refine(
    ({ webhook_url, bot_token, client_id }) => exactlyOne(webhook_url, bot_token, client_id),
    "give one of webhook_url, bot_token and client_id",
  ).refine(
    ({ webhook_url, channel }) => (webhook_url === undefined) === (channel !== undefined),
    "a token needs a channel; an incoming webhook must not have one",
  ).refine(
    ({ client_id, client_secret }) => (client_id === undefined) === (client_secret === undefined),
    "client_id and client_secret go together",
  ),
  secrets: ["webhook_url", "bot_token", "client_secret"],
  oauth: ({ client_id, client_secret }) =>
    client_id === undefined ? null : {
      issuer: "https://slack.com",
      endpoints: {
        authorization: "https://slack.com/oauth/v2/authorize",
        token: `${API}/oauth.v2.access`,
      },
      clientId: client_id,
      clientSecret: client_secret ?? null,
      authentication: "client_secret_post",
      scopes: ["chat:write"],
    },
  notify({ webhook_url, bot_token, channel }, { message, accessToken }) {
    if (webhook_url !== undefined) return jsonRequest(webhook_url, blocksOf(message));
    const token = bot_token ?? accessToken;
    if (token === null) return null;
    const body = { channel, ...blocksOf(message) };
    return jsonRequest(`${API}/chat.postMessage`, body, { authorization: `Bearer ${token}` });
  },
  /** Slack rejects with status 200. An incoming webhook answers `ok` in plain text. */
  refusal({ body }, to) {
    if (!body.startsWith("{")) return null;
    const answer = z.looseObject({ ok: z.boolean(), error: z.string().default("no") });
    const { data } = answer.safeParse(parsed(body));
    if (data?.ok !== false || to === "revocation" && ENDED.includes(data.error)) return null;
    return `Slack says ${cut(data.error, ERROR_MAX)}`;
  },
  revoke: (_config, accessToken) =>
    accessToken === null ? null : {
      method: "POST",
      url: `${API}/auth.revoke`,
      headers: { authorization: `Bearer ${accessToken}` },
      body: "",
    },
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function blocksOf({ title, facts, link, pid }: Message) {
  // Rich text is shown literally. In Slack's markup a command would lose its asterisks and mention people.
  const lines = facts.slice(0, FACTS_MAX).map(([name, value]) => ({
    type: "rich_text_section",
    elements: [
      { type: "text", text: `${name}: `, style: { bold: true } },
      { type: "text", text: cut(value, VALUE_MAX) || "–", style: { code: true } },
    ],
  }));
  const button = {
    type: "button",
    action_id: "relay_open",
    text: { type: "plain_text", text: pid === null ? "Open" : "Decide" },
    ...(pid !== null && { style: "primary" }),
    url: link,
  };
  return {
    text: cut(title, HEADER_MAX),
    blocks: [
      { type: "header", text: { type: "plain_text", text: cut(title, HEADER_MAX) } },
      ...(lines.length > 0 ? [{ type: "rich_text", elements: lines }] : []),
      ...(link.length <= BUTTON_URL_MAX ? [{ type: "actions", elements: [button] }] : []),
    ],
  };
}
