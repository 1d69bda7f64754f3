import { z } from "zod";
import {
  cancelRecovery,
  countRecoverable,
  getDelivery,
  getRecovery,
  listDeliveries,
  recoverDeliveries,
  resendDelivery,
} from "../core/delivery/delivery.ts";
import { route } from "./call/route.ts";
import { Id, IdParams, listOf } from "./schemas/schemas.ts";
import { Delivery, DeliveryDetail, LogQuery, RecoverBody, Recovery } from "./schemas/webhooks.ts";

const DeliveryParams = z.strictObject({ id: Id, del_id: Id });
const RecoveryParams = z.strictObject({ id: Id, recovery_id: Id });

export const webhookDeliveryRoutes = [
  route({
    id: "webhooks.deliveries",
    method: "GET",
    path: "/api/v1/webhooks/{id}/deliveries",
    summary: "Delivery log, newest first",
    description:
      "`since` and `until` ask for when a delivery was made. `pagination.total` counts " +
      "what matches, up to 10,000.",
    access: { scope: "system:read" },
    effect: "read",
    params: IdParams,
    query: LogQuery,
    success: { status: 200, body: listOf("deliveries", Delivery) },
    faults: ["NOT_FOUND"],
    handle: (work, { params, query: { limit, offset, ...filter } }) =>
      listDeliveries(work, params.id, filter, { limit, offset }),
  }),
  route({
    id: "webhooks.delivery",
    method: "GET",
    path: "/api/v1/webhooks/{id}/deliveries/{del_id}",
    summary: "One delivery with its attempts",
    access: { scope: "system:read" },
    effect: "read",
    params: DeliveryParams,
    success: { status: 200, body: DeliveryDetail },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => getDelivery(work, params.id, params.del_id),
  }),
  route({
    id: "webhooks.resend",
    method: "POST",
    path: "/api/v1/webhooks/{id}/deliveries/{del_id}/resend",
    summary: "Send a delivery once more, under the same id, with all attempts before it",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "webhook_delivery_resent" },
    params: DeliveryParams,
    body: z.strictObject({}),
    success: { status: 202, body: Delivery },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params }, { deliveries }) =>
      resendDelivery(work, deliveries, params.id, params.del_id),
  }),
  route({
    id: "webhooks.recover",
    method: "POST",
    path: "/api/v1/webhooks/{id}/recover",
    summary: "Send the failed and held deliveries of a time once more",
    description: "`dry_run` only counts them, up to 10,000. `until` is now unless given.",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "webhook_recovery_started, unless it is a dry run" },
    params: IdParams,
    body: RecoverBody,
    rules: {
      "body.until": "is later than `since`",
      "body.since": "is within the retention of events",
    },
    success: {
      status: 200,
      body: z.object({ matched: z.int().nullable(), recovery: Recovery.nullable() })
        .meta({ id: "WebhookRecoveryStart" }),
    },
    accepted: "It has begun: its recovery tells how far it is.",
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params, body: { dry_run, ...range } }, { deliveries }) =>
      dry_run
        ? countRecoverable(work, params.id, range)
        : recoverDeliveries(work, deliveries, params.id, range),
  }),
  route({
    id: "webhooks.recovery",
    method: "GET",
    path: "/api/v1/webhooks/{id}/recoveries/{recovery_id}",
    summary: "How far a recovery is",
    access: { scope: "system:read" },
    effect: "read",
    params: RecoveryParams,
    success: { status: 200, body: Recovery },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => getRecovery(work, params.id, params.recovery_id),
  }),
  route({
    id: "webhooks.cancel_recovery",
    method: "POST",
    path: "/api/v1/webhooks/{id}/recoveries/{recovery_id}/cancel",
    summary: "Stop a recovery; what it sent stays sent",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "webhook_recovery_cancelled, when it was running" },
    params: RecoveryParams,
    body: z.strictObject({}),
    success: { status: 200, body: Recovery },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => cancelRecovery(work, params.id, params.recovery_id),
  }),
];
