import { z } from "zod";
import { ALERT_SEVERITIES } from "../../../kv/records/alert.ts";
import { INGEST_PURPOSES } from "../../../kv/records/ingest.ts";
import { count, id } from "./fields.ts";
import { NOTICES, type NoticeType } from "./notices.ts";
import { event } from "./event.ts";

const severity = z.enum(ALERT_SEVERITIES);
const NOTICE_TYPES = Object.keys(NOTICES) as [NoticeType, ...NoticeType[]];
const token = z.strictObject({
  name: z.string().describe("The token's name."),
  purpose: z.enum(INGEST_PURPOSES),
});
const tokenExample = { name: "monitoring", purpose: "alertmanager" } as const;

const remark = z.strictObject({
  source: z.string().describe("The system that reported it."),
  name: z.string().describe("The alert's name."),
  severity,
  reason: z.string().nullable().describe("The reason they gave."),
});
const remarkExample = {
  source: "alertmanager",
  name: "DiskFull",
  severity: "critical",
  reason: "cleaned up",
} as const;

const integration = {
  name: z.string().describe("The integration's name."),
  type: z.string().describe("Its type in the catalog."),
};
const integrationExample = { name: "code", type: "github" };
const issuer = z.string().describe("The OAuth provider.");

const named = (which: string) =>
  z.array(z.strictObject({ alert_id: id("alert"), name: z.string(), severity })).optional()
    .describe(which);

/** Alerts, ingest tokens, Telegram links, integrations and notifications. */
export const outsideEvents = {
  alerts_ingested: event({
    meaning: "alerts arrived, by import or with an ingest token",
    details: z.strictObject({
      source: z.string().describe("The system that reported them."),
      created: count("The number of new alerts"),
      updated: count("The number of changed alerts"),
      resolved: count("The number of resolved alerts"),
      repeated: count("The number of alerts without news"),
      opened: z.int().optional().describe("The number of alerts that became active."),
      raised: named("The worst of those, twenty at most."),
      ended: named("The worst of those that ended, twenty at most."),
      stored: z.int().optional().describe("For imports: the number of readable alerts."),
      malformed: z.int().optional().describe("For imports: the number of unreadable alerts."),
      group_key: z.string().optional().describe("For Alertmanager: the group key."),
      receiver: z.string().optional().describe("For Alertmanager: the receiver."),
      status: z.enum(["firing", "resolved"]).optional().describe(
        "For Alertmanager: the status of the group.",
      ),
      truncated: z.int().optional().describe("For Alertmanager: the number of alerts it omitted."),
      event: z.string().optional().describe("For generic webhooks: the event."),
    }),
    example: {
      source: "alertmanager",
      created: 1,
      updated: 0,
      resolved: 0,
      repeated: 0,
      opened: 1,
      raised: [{
        alert_id: "alr_4f2c8a1e9b7d6053c1e2f3a4b5968770",
        name: "DiskFull",
        severity: "critical",
      }],
      group_key: '{}:{alertname="DiskFull"}',
      receiver: "relay",
      status: "firing",
      truncated: 0,
    },
  }),
  alert_acknowledged: event({
    meaning: "a person began to look after an alert",
    details: remark,
    example: { ...remarkExample, reason: "on it" },
  }),
  alert_resolved: event({
    meaning: "a person resolved an alert",
    details: remark,
    example: remarkExample,
  }),
  ingest_token_created: event({
    meaning: "an ingest token was created",
    details: token,
    example: tokenExample,
  }),
  ingest_token_deleted: event({
    meaning: "an ingest token was deleted",
    details: token,
    example: tokenExample,
  }),
  ingest_refused: event({
    meaning: "a request with an ingest token could not be read",
    result: "denied",
    details: z.strictObject({
      purpose: token.shape.purpose,
      reasons: z.array(z.string()).describe("The first faults."),
    }),
    example: { purpose: "alertmanager", reasons: ["alerts.0: has no name"] },
  }),
  telegram_linked: event({
    meaning: "a person linked their Telegram account",
    details: z.strictObject({
      telegram_id: z.string().describe("The Telegram id of the account."),
      username: z.string().nullable().describe("The Telegram name of the account."),
      token_id: id("ingest token that the bot uses"),
      replaced: z.string().nullable().describe("The link that this one replaced."),
    }),
    example: {
      telegram_id: "100200300",
      username: "ada",
      token_id: "ing_0m3xi",
      replaced: null,
    },
  }),
  telegram_unlinked: event({
    meaning: "a link to a Telegram account was deleted",
    details: z.strictObject({
      telegram_id: z.string().describe("The Telegram id of the account."),
      user_id: id("user"),
    }),
    example: { telegram_id: "100200300", user_id: "usr_0m3x1" },
  }),
  integration_installed: event({
    meaning: "an integration was installed",
    details: z.strictObject(integration),
    example: integrationExample,
  }),
  integration_removed: event({
    meaning: "an integration was removed, and its OAuth tokens are being revoked",
    details: z.strictObject({
      ...integration,
      revocations: count("The number of tokens that the provider is asked to revoke"),
    }),
    example: { ...integrationExample, revocations: 2 },
  }),
  integration_flow_begun: event({
    meaning: "a user began an OAuth flow",
    details: z.strictObject({ ...integration, issuer }),
    example: { ...integrationExample, issuer: "https://github.com" },
  }),
  integration_connected: event({
    meaning: "an OAuth flow connected an integration",
    details: z.strictObject({
      ...integration,
      issuer,
      scope: z.string().nullable().describe("The granted scope, if the provider states it."),
    }),
    example: { ...integrationExample, issuer: "https://github.com", scope: "repo" },
  }),
  integration_refused: event({
    meaning: "an OAuth flow failed",
    result: "denied",
    details: z.strictObject({
      ...integration,
      code: z.string().describe("The code of the error."),
      error: z.string().describe("The message of the error."),
    }),
    example: { ...integrationExample, code: "CONFLICT", error: "The provider gave no consent." },
  }),
  integration_expired: event({
    meaning: "an OAuth provider no longer accepts an integration's refresh token",
    details: z.strictObject({
      ...integration,
      error: z.string().describe("The provider's answer."),
    }),
    example: { ...integrationExample, error: "invalid_grant" },
  }),
  integration_failed: event({
    meaning: "the last attempt of an integration to send something failed",
    result: "failure",
    details: z.strictObject({
      what: z.enum(["message", "revocation"]).describe("What was to be sent."),
      attempts: z.int().min(1).describe("The number of attempts."),
      error: z.string().describe("Why the last attempt failed."),
    }),
    example: { what: "message", attempts: 5, error: "HTTP status 500" },
  }),
  notification_sent: event({
    meaning: "a notification was sent to people",
    details: z.strictObject({
      type: z.enum(NOTICE_TYPES).describe("The type of the notification."),
      told: z.array(z.strictObject({ user_id: id("user"), id: id("notification") })),
      about_type: z.string().describe("The type of the resource concerned."),
      about_id: z.string().describe("The id of the resource concerned."),
      about: z.record(z.string(), z.unknown()).describe("The details in the notification."),
    }),
    example: {
      type: "agent_lost",
      told: [{ user_id: "usr_0m3x1", id: "ntf_0m3xj" }],
      about_type: "agent",
      about_id: "agt_0m3xa",
      about: { name: "web-1", since: "2026-01-31T12:00:00.000Z" },
    },
  }),
} as const;
