import { z } from "zod";
import { findIngestToken, receiveAlertmanager, receiveGeneric } from "../core/agents/agents.ts";
import type { IngestPurpose } from "../kv/records/ingest.ts";
import { BODY_BYTES_MAX } from "./http/body.ts";
import { type LargerBody, route } from "./call/route.ts";
import { Accepted, anything } from "./schemas/schemas.ts";

const TOKEN_CHARS_MAX = 512;

const receiver = {
  method: "POST",
  access: { public: "the sender presents an ingest token; without one nothing happens" },
  effect: "steps",
  audit: { byRule: "alerts_ingested, or ingest_refused for a request that cannot be read" },
  query: z.strictObject({
    token: z.string().max(TOKEN_CHARS_MAX).optional().meta({
      description: "The ingest token, for senders that cannot set headers.",
    }),
  }),
  ignoresUnknownQuery: true,
  success: { status: 202, body: Accepted },
  faults: [],
} as const;

const TOKEN =
  "Send the token in `Authorization: Bearer`, `X-Ingest-Token` or `token`. Up to 16 KiB " +
  "the response is the same with a valid token, an invalid one or none; a larger body " +
  "needs a valid token.";

const largerBody = (purpose: IngestPurpose): LargerBody => ({
  bytesMax: BODY_BYTES_MAX,
  unless: "it comes with an ingest token of this purpose",
  maySend: async ({ relay, request, query }) =>
    await findIngestToken(relay, query.token ?? request.ingestToken, purpose) !== null,
});

export const receiverRoutes = [
  route({
    ...receiver,
    id: "receivers.alertmanager",
    path: "/api/webhooks/alertmanager",
    summary: "Receive alerts from Prometheus Alertmanager",
    description: TOKEN,
    largerBody: largerBody("alertmanager"),
    body: z.looseObject({
      status: anything("`firing` or `resolved`."),
      alerts: anything("The alerts, as in version 4 of Alertmanager's webhook format."),
    }),
    handle: (work, { query, body }) =>
      receiveAlertmanager(work, query.token ?? work.request.ingestToken, body),
  }),
  route({
    ...receiver,
    id: "receivers.generic",
    path: "/api/webhooks/generic-alert",
    summary: "Receive an alert in a generic format",
    description: TOKEN,
    largerBody: largerBody("generic"),
    body: z.looseObject({
      event: anything("What happened; becomes the alert's name."),
      payload: anything("An object with the alert's other fields, as for the import."),
    }),
    handle: (work, { query, body }) =>
      receiveGeneric(work, query.token ?? work.request.ingestToken, body),
  }),
];
