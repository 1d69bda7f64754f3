import { z } from "zod";
import { EVENT_TYPES } from "../core/webhooks/event_types.ts";
import { RetryPolicy, RetryPolicyChange } from "../core/webhooks/retry_policy.ts";
import { updateWebhook } from "../core/webhooks/update.ts";
import {
  createWebhook,
  deleteWebhook,
  getDelivery,
  getWebhook,
  listDeliveries,
  listWebhooks,
  pingWebhook,
} from "../core/webhooks/webhooks.ts";
import { DELIVERY_STATUSES } from "../kv/records/webhook.ts";
import { route } from "./_route.ts";
import { Id, IdParams, Name, Named, PageQuery, Pagination, Timestamp } from "./_schemas.ts";

const EventType = z.enum(EVENT_TYPES);
const Url = z.string().min(1).max(2048);
const Secret = z.string().min(8).max(256).meta({ description: "Shared secret for signing." });
const Headers = z.record(z.string(), z.string());
const Events = z.array(EventType).min(1).max(EVENT_TYPES.length)
  .refine((events) => new Set(events).size === events.length, "each type once");

const Webhook = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  active: z.boolean(),
  events: z.array(z.string()),
  custom_headers: z.record(z.string(), z.string()),
  retry_policy: RetryPolicy,
  previous_secret_ends_at: Timestamp.nullable().meta({
    description: "Until then the secret before the last change signs too.",
  }),
  created_at: Timestamp,
  delivery_count: z.int().meta({ description: "Attempts that have ended." }),
  last_delivery_at: Timestamp.nullable(),
}).meta({ id: "Webhook" });

const Delivery = z.object({
  id: z.string(),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  status: z.enum(DELIVERY_STATUSES),
  held: z.boolean().meta({ description: "True while it waits for its webhook to be enabled." }),
  final: z.boolean().meta({ description: "True when it failed and no attempt follows." }),
  http_status: z.int().nullable(),
  response_time_ms: z.number().nullable(),
  attempt: z.int(),
  sent_at: Timestamp.nullable(),
  response_body: z.string(),
  error: z.string().nullable(),
  next_attempt_at: Timestamp.nullable(),
}).meta({ id: "Delivery" });

export const webhookRoutes = [
  route({
    id: "webhooks.create",
    method: "POST",
    path: "/api/v1/webhooks",
    summary: "Create a webhook",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "webhook_created",
      resource: "webhook",
      id: (webhook) => webhook.id,
      details: ({ name, url, events }) => ({ name, url, events }),
    },
    body: z.strictObject({
      name: Name,
      url: Url,
      secret: Secret,
      events: Events,
      headers: Headers.default({}),
      retry_policy: RetryPolicy.prefault({}),
      active: z.boolean().default(true),
    }),
    success: { status: 201, body: Webhook },
    faults: ["CONFLICT"],
    handle: (work, { body }) => createWebhook(work, body),
  }),
  route({
    id: "webhooks.list",
    method: "GET",
    path: "/api/v1/webhooks",
    summary: "List webhooks of the organization",
    access: { scope: "system:read" },
    effect: "read",
    query: PageQuery,
    success: {
      status: 200,
      body: z.object({ webhooks: z.array(Webhook), pagination: Pagination }),
    },
    faults: [],
    tool: { destructive: false },
    handle: (work, { query }) => listWebhooks(work, query),
  }),
  route({
    id: "webhooks.get",
    method: "GET",
    path: "/api/v1/webhooks/{id}",
    summary: "Get a webhook",
    access: { scope: "system:read" },
    effect: "read",
    params: IdParams,
    success: { status: 200, body: Webhook },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => getWebhook(work, params.id),
  }),
  route({
    id: "webhooks.update",
    method: "PATCH",
    path: "/api/v1/webhooks/{id}",
    summary: "Change a webhook, for every attempt from now on",
    description:
      "What is given replaces what was there; a retry policy is changed field by field. " +
      "After a change of the secret the old one signs beside the new one for 24 hours. Whoever " +
      "changes more than the name or the policy must be allowed to read the webhook's events; " +
      "so must its creator, when they change.",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "webhook_updated, with the names of the changed fields" },
    params: IdParams,
    body: z.strictObject({
      name: Name,
      url: Url,
      events: Events,
      secret: Secret,
      headers: Headers,
      retry_policy: RetryPolicyChange,
    }).partial().refine((change) => Object.keys(change).length > 0, "give at least one field"),
    success: { status: 200, body: Webhook },
    faults: ["NOT_FOUND"],
    handle: (work, { params, body }) => updateWebhook(work, params.id, body),
  }),
  route({
    id: "webhooks.delete",
    method: "DELETE",
    path: "/api/v1/webhooks/{id}",
    summary: "Delete a webhook",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "webhook_deleted",
      resource: "webhook",
      id: (webhook) => webhook.id,
      details: ({ name, url }) => ({ name, url }),
    },
    params: IdParams,
    success: { status: 204, about: Named.extend({ url: z.string() }) },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => deleteWebhook(work, params.id),
  }),
  route({
    id: "webhooks.test",
    method: "POST",
    path: "/api/v1/webhooks/{id}/test",
    summary: "Send a ping test event",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "webhook_tested",
      resource: "webhook",
      id: (delivery) => delivery.webhook_id,
      details: ({ id }) => ({ delivery_id: id }),
    },
    params: IdParams,
    body: z.strictObject({}),
    success: { status: 202, body: Delivery },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => pingWebhook(work, params.id),
  }),
  route({
    id: "webhooks.deliveries",
    method: "GET",
    path: "/api/v1/webhooks/{id}/deliveries",
    summary: "Delivery log, newest first",
    access: { scope: "system:read" },
    effect: "read",
    params: IdParams,
    query: PageQuery,
    success: {
      status: 200,
      body: z.object({ deliveries: z.array(Delivery), pagination: Pagination }),
    },
    faults: ["NOT_FOUND"],
    handle: (work, { params, query }) => listDeliveries(work, params.id, query),
  }),
  route({
    id: "webhooks.delivery",
    method: "GET",
    path: "/api/v1/webhooks/{id}/deliveries/{del_id}",
    summary: "One delivery",
    access: { scope: "system:read" },
    effect: "read",
    params: z.strictObject({ id: Id, del_id: Id }),
    success: { status: 200, body: Delivery },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => getDelivery(work, params.id, params.del_id),
  }),
];
