import { z } from "zod";
import { collection } from "../store/collection.ts";

export const ALERT_STATES = ["active", "resolved"] as const;
export const ALERT_SEVERITIES = ["info", "warning", "critical"] as const;
export type AlertState = (typeof ALERT_STATES)[number];
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** A problem reported by one source, once or many times. */
export const AlertRecord = z.strictObject({
  /** Derived from source and fingerprint, so that a report finds its alert without a search. */
  id: z.string(),
  source: z.string(),
  /** Identifies the alert within its source. */
  fingerprint: z.string(),
  name: z.string(),
  severity: z.enum(ALERT_SEVERITIES),
  state: z.enum(ALERT_STATES),
  /** The agent that the source names. */
  agent_id: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()),
  starts_at_ms: z.number(),
  ends_at_ms: z.number().nullable(),
  first_seen_ms: z.number(),
  last_seen_ms: z.number(),
  /** How often it was reported as active. */
  count: z.int(),
  /** When and by which user or key it was acknowledged since it last became active. */
  acknowledged_at_ms: z.number().nullable().default(null),
  acknowledged_by: z.string().nullable().default(null),
  resolved_at_ms: z.number().nullable(),
  /** The user, key or ingest token that resolved it. */
  resolved_by: z.string().nullable(),
  reason: z.string().nullable(),
  /** Digest of the delivery that last reported it, to detect repetitions; null without one. */
  delivery: z.string().nullable(),
  expires_at_ms: z.number(),
});
export type AlertRecord = z.infer<typeof AlertRecord>;

/** The filters of a list, beside the state. */
export const ALERT_FACETS = ["severity", "source", "agent_id"] as const;
export type AlertFacet = (typeof ALERT_FACETS)[number];

/** The index that lists by state and these facets, given in the order of ALERT_FACETS. */
export const alertIndex = (facets: readonly AlertFacet[]): string => ["state", ...facets].join("+");

/** Every combination of facets, so that each filtered list is ordered and has an exact total. */
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
