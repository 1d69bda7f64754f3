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

const integration = {
  name: z.string().describe("The integration's name."),
  type: z.string().describe("Its type in the catalog."),
};
const integrationExample = { name: "code", type: "github" };
const issuer = z.string().describe("The OAuth provider.");

const named = (which: string) =>
  z.array(z.strictObject({ alert_id: id("alr"), name: z.string(), severity })).optional()
    .describe(which);

/** What comes in from outside, and the systems that Relay is connected to. */
export const outsideEvents = {
  alerts_ingested: event({
    meaning: "alerts came in: imported, or from outside with an ingest token",
    details: z.strictObject({
      source: z.string().describe("The system that reported them."),
      created: count("How many are new"),
      updated: count("How many changed"),
      resolved: count("How many ended"),
      repeated: count("How many said nothing new"),
      opened: z.int().optional().describe("How many are on that were not."),
      raised: named("The worst of those, twenty at most."),
      ended: named("The worst of those that ended, twenty at most."),
      stored: z.int().optional().describe("Of an import: how many could be read."),
      malformed: z.int().optional().describe("Of an import: how many could not be read."),
      group_key: z.string().optional().describe("Of Alertmanager: the group's key."),
      receiver: z.string().optional().describe("Of Alertmanager: the receiver's name."),
      status: z.enum(["firing", "resolved"]).optional().describe("Of Alertmanager: the group's."),
      truncated: z.int().optional().describe("Of Alertmanager: how many alerts it left out."),
      event: z.string().optional().describe("Of a generic webhook: its event."),
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
  alert_resolved: event({
    meaning: "a person resolved an alert",
    details: z.strictObject({
      source: z.string().describe("The system that reported it."),
      name: z.string().describe("The alert's name."),
      severity,
      reason: z.string().nullable().describe("What they wrote."),
    }),
    example: {
      source: "alertmanager",
      name: "DiskFull",
      severity: "critical",
      reason: "cleaned up",
    },
  }),
  ingest_token_created: event({
    meaning: "an ingest token was made",
    details: token,
    example: tokenExample,
  }),
  ingest_token_deleted: event({
    meaning: "an ingest token was deleted",
    details: token,
    example: tokenExample,
  }),
  ingest_refused: event({
    meaning: "what came in with an ingest token could not be read",
    details: z.strictObject({
      purpose: token.shape.purpose,
      reasons: z.array(z.string()).describe("What was wrong, the first of it."),
    }),
    example: { purpose: "alertmanager", reasons: ["alerts.0: has no name"] },
  }),
  telegram_linked: event({
    meaning: "a person linked their Telegram account",
    details: z.strictObject({
      telegram_id: z.string().describe("Telegram's id of the account."),
      username: z.string().nullable().describe("Its name there."),
      token_id: id("ingest token that the bot uses"),
      replaced: z.string().nullable().describe("The link that this one took the place of."),
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
      telegram_id: z.string().describe("Telegram's id of the account."),
      user_id: id("user"),
    }),
    example: { telegram_id: "100200300", user_id: "usr_0m3x1" },
  }),
  integration_installed: event({
    meaning: "an outside system was installed",
    details: z.strictObject(integration),
    example: integrationExample,
  }),
  integration_removed: event({
    meaning: "an integration was removed; tokens that it got by OAuth are revoked",
    details: z.strictObject({
      ...integration,
      revocations: count("How many tokens the provider is asked to revoke"),
    }),
    example: { ...integrationExample, revocations: 2 },
  }),
  integration_flow_begun: event({
    meaning: "a user began to connect an integration by OAuth",
    details: z.strictObject({ ...integration, issuer }),
    example: { ...integrationExample, issuer: "https://github.com" },
  }),
  integration_connected: event({
    meaning: "an OAuth flow brought an integration its tokens",
    details: z.strictObject({
      ...integration,
      issuer,
      scope: z.string().nullable().describe("What the provider granted, when it says so."),
    }),
    example: { ...integrationExample, issuer: "https://github.com", scope: "repo" },
  }),
  integration_refused: event({
    meaning: "an OAuth flow ended without tokens",
    details: z.strictObject({
      ...integration,
      code: z.string().describe("The code of the fault that was answered."),
      error: z.string().describe("Its message."),
    }),
    example: { ...integrationExample, code: "CONFLICT", error: "The provider gave no consent." },
  }),
  integration_expired: event({
    meaning: "an OAuth provider takes an integration's refresh token no more",
    details: z.strictObject({ ...integration, error: z.string().describe("What it answered.") }),
    example: { ...integrationExample, error: "invalid_grant" },
  }),
  integration_failed: event({
    meaning: "what an integration had to send outside failed in its last attempt",
    details: z.strictObject({
      what: z.enum(["message", "revocation"]).describe("What it had to send."),
      attempts: z.int().min(1).describe("How often it was tried."),
      error: z.string().describe("Why the last attempt failed."),
    }),
    example: { what: "message", attempts: 5, error: "HTTP status 500" },
  }),
  notification_sent: event({
    meaning: "people were told of something that they must know",
    details: z.strictObject({
      type: z.enum(NOTICE_TYPES).describe("What they were told of."),
      told: z.array(z.strictObject({ user_id: id("user"), id: id("notification") })),
      about_type: z.string().describe("The kind of resource that it is about."),
      about_id: z.string().describe("The id of the resource that it is about."),
      about: z.record(z.string(), z.unknown()).describe("What was said of it."),
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
