import { z } from "zod";
import { cut, jsonRequest, service } from "../service.ts";
import { SecretText, Topics } from "./fields.ts";

const HOSTS = {
  us: "https://events.pagerduty.com",
  eu: "https://events.eu.pagerduty.com",
} as const;
/** The limits of the Events API v2. */
const SUMMARY_MAX = 1024;
const DEDUP_MAX = 255;
const VALUE_MAX = 1000;

/** Incidents by the Events API v2: triggers one for each subject, and resolves it with the subject. */
export const pagerduty = service({
  name: "PagerDuty",
  description: "Triggers an incident and resolves it when the matter is settled.",
  category: "incidents",
  config: z.strictObject({
    routing_key: SecretText.regex(/^\w{32}$/, "must be an integration key of 32 characters"),
    region: z.enum(["us", "eu"]).default("us"),
    topics: Topics(["approvals", "alerts"]),
  }),
  secrets: ["routing_key"],
  notify({ routing_key, region }, { message, event }) {
    const { facts, subjects, link } = message;
    const url = `${HOSTS[region]}/v2/enqueue`;
    const details = facts.map(([name, value]) => [name, cut(value, VALUE_MAX)] as const);
    return subjects.map(({ key, resolved, summary, severity }) => {
      const common = { routing_key, dedup_key: cut(`relay/${key}`, DEDUP_MAX) };
      if (resolved) return jsonRequest(url, { ...common, event_action: "resolve" });
      return jsonRequest(url, {
        ...common,
        event_action: "trigger",
        client: "Relay",
        client_url: link,
        links: [{ href: link, text: "Open in Relay" }],
        payload: {
          summary: cut(summary, SUMMARY_MAX),
          source: event.agent_id ?? event.organization_id,
          severity,
          timestamp: event.timestamp,
          component: event.resource_type,
          class: event.event_type,
          custom_details: Object.fromEntries(details),
        },
      });
    });
  },
});
