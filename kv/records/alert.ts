import { z } from "zod";
import { collection } from "../store/collection.ts";

export const ALERT_STATES = ["active", "resolved"] as const;
export const ALERT_SEVERITIES = ["info", "warning", "critical"] as const;
export type AlertState = (typeof ALERT_STATES)[number];
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** What one source says is wrong, however often it says so. */
export const AlertRecord = z.strictObject({
  /** Made of the source and the fingerprint: a report finds its alert without a search. */
  id: z.string(),
  source: z.string(),
  /** Names the alert within its source. */
  fingerprint: z.string(),
  name: z.string(),
  severity: z.enum(ALERT_SEVERITIES),
  state: z.enum(ALERT_STATES),
  /** The agent that it is about, as its source says. */
  agent_id: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()),
  starts_at_ms: z.number(),
  ends_at_ms: z.number().nullable(),
  first_seen_ms: z.number(),
  last_seen_ms: z.number(),
  /** How often it was reported as active. */
  count: z.int(),
  resolved_at_ms: z.number().nullable(),
  /** Who resolved it: a user, a key, an ingest token. */
  resolved_by: z.string().nullable(),
  reason: z.string().nullable(),
  /** Digest of the delivery that reported it last, by which a repetition is known; null without one. */
  delivery: z.string().nullable(),
  expires_at_ms: z.number(),
});
export type AlertRecord = z.infer<typeof AlertRecord>;

/** What a list can be narrowed by, beside the state. */
export const ALERT_FACETS = ["severity", "source", "agent_id"] as const;
export type AlertFacet = (typeof ALERT_FACETS)[number];

/** The index that lists by the state and these facets, which stand in the order of ALERT_FACETS. */
export const alertIndex = (facets: readonly AlertFacet[]): string => ["state", ...facets].join("+");

/** Every choice of facets, so that each filtered list is in order and as long as it says. */
const CHOICES = ALERT_FACETS.reduce<AlertFacet[][]>(
  (choices, facet) => [...choices, ...choices.map((choice) => [...choice, facet])],
  [[]],
);

export const alerts = collection({
  name: "alerts",
  schema: AlertRecord,
  index: Object.fromEntries(CHOICES.map((facets) => [
    alertIndex(facets),
    (alert: AlertRecord) => {
      const values = facets.map((facet) => alert[facet]);
      return values.includes(null)
        ? null
        : [alert.state, ...values as string[], alert.first_seen_ms];
    },
  ])),
  expiresAt: (alert) => alert.expires_at_ms,
});
