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
    summary: "List deliveries, newest first",
    description:
      "`since` and `until` select by the time of creation. `pagination.total` counts the " +
      "matches, up to 10,000.",
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
    summary: "Get a delivery with its attempts",
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
    summary: "Resend a delivery",
    description: "The delivery keeps its id and its earlier attempts.",
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
    summary: "Resend failed and held deliveries",
    description:
      "Sends the deliveries created from `since` until `until`, which is now by default. " +
      "`dry_run` only counts them, up to 10,000.",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "webhook_recovery_started, unless it is a dry run" },
    params: IdParams,
    body: RecoverBody,
    rules: {
      "body.until": "must be later than `since`",
      "body.since": "must be within the retention of events",
    },
    success: {
      status: 200,
      body: z.object({ matched: z.int().nullable(), recovery: Recovery.nullable() })
        .meta({ id: "WebhookRecoveryStart" }),
    },
    accepted: "The recovery has started; read its progress by its id.",
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
    summary: "Get the progress of a recovery",
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
    summary: "Cancel a recovery",
    description: "Deliveries that were already sent stay sent.",
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
