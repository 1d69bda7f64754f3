import { z } from "zod";
import {
  adoptWebhook,
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  getWebhook,
  listEventTypes,
  listWebhooks,
  RetryPolicy,
  RetryPolicyChange,
  testWebhook,
  updateWebhook,
} from "../core/delivery/delivery.ts";
import { route } from "./call/route.ts";
import {
  ADOPTION,
  changeOf,
  DeletedResource,
  excludes,
  IdParams,
  listOf,
  Name,
  PageQuery,
} from "./schemas/schemas.ts";
import {
  Delivery,
  Events,
  EventTypes,
  Headers,
  HeldChoice,
  NewWebhook,
  Secret,
  TestType,
  Url,
  Webhook,
} from "./schemas/webhooks.ts";

const HEADER_RULE = "must be names and values valid in HTTP, none of them set by Relay";

export const webhookRoutes = [
  route({
    id: "webhooks.create",
    method: "POST",
    path: "/api/v1/webhooks",
    summary: "Create a webhook",
    description: "Without a `secret`, Relay generates one, which only this response shows.",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "webhook_created",
      resource: "webhook",
      id: (webhook) => webhook.id,
      details: ({ name, url, events }) => ({ name, url, events }),
    },
    body: z.strictObject({
      name: Name.meta({ examples: ["chat-ops"] }),
      url: Url,
      secret: Secret.optional(),
      events: Events,
      headers: Headers.default({}),
      retry_policy: RetryPolicy.prefault({}),
      active: z.boolean().default(true).meta({
        description: "False holds deliveries until the webhook is enabled.",
      }),
    }),
    noStore: true,
    rules: {
      "body.url": "must be an allowed http or https address",
      "body.headers": HEADER_RULE,
    },
    success: { status: 201, body: NewWebhook },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }, { deliveries }) => createWebhook(work, deliveries, body),
  }),
  route({
    id: "webhooks.list",
    method: "GET",
    path: "/api/v1/webhooks",
    summary: "List webhooks",
    access: { scope: "system:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("webhooks", Webhook) },
    faults: [],
    tool: { name: "list_webhooks", destructive: false },
    handle: (work, { query }, { deliveries }) => listWebhooks(work, deliveries, query),
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
    handle: (work, { params }, { deliveries }) => getWebhook(work, deliveries, params.id),
  }),
  route({
    id: "webhooks.update",
    method: "PATCH",
    path: "/api/v1/webhooks/{id}",
    summary: "Update a webhook",
    description:
      "It takes effect with the next attempt. The given fields replace the old values; a retry " +
      "policy is changed field by field. After a change of the secret, the old secret also " +
      "signs for 24 hours. A change of more than the name or the retry policy requires the " +
      "right to read the webhook's events. When the events change, the user that the webhook " +
      "acts for needs it too. A new `url` requires secrets:read while stored header values " +
      "stay. A record that was read can be sent back: the header value `********` keeps the " +
      "stored one, and read-only fields must be unchanged.",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      byRule:
        "webhook_updated, with the names of the changed fields; webhook_enabled or webhook_disabled",
    },
    params: IdParams,
    body: changeOf(Webhook, {
      name: Name.optional(),
      url: Url.optional(),
      active: z.boolean().optional().meta({
        description: "True enables the webhook and sends held deliveries; false disables it.",
      }),
      events: Events.optional(),
      secret: Secret.optional(),
      headers: Headers.optional(),
      custom_headers: Headers.optional().meta({
        description: "The same as `headers`; give one of them.",
      }),
      retry_policy: RetryPolicyChange.optional(),
    }).refine((change) => Object.keys(change).length > 0, "give at least one field")
      .refine(({ headers, custom_headers }) => !headers || !custom_headers, {
        path: ["custom_headers"],
        message: "is the same as headers: give one of them",
      })
      .meta({
        examples: [{ name: "deploys" }],
        minProperties: 1,
        ...excludes("headers", "custom_headers"),
      }),
    rules: {
      "body.url": "must be an allowed http or https address",
      "body.headers": HEADER_RULE,
      "body.custom_headers": HEADER_RULE,
    },
    success: { status: 200, body: Webhook },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params, body }, { deliveries }) =>
      updateWebhook(work, deliveries, params.id, body),
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
    success: { status: 204, about: DeletedResource.extend({ url: z.string() }) },
    faults: ["NOT_FOUND"],
    handle: (work, { params }, { deliveries }) => deleteWebhook(work, deliveries, params.id),
  }),
  route({
    id: "webhooks.adopt",
    method: "POST",
    path: "/api/v1/webhooks/{id}/adopt",
    summary: "Adopt a suspended webhook",
    description: ADOPTION,
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "standing_adopted" },
    params: IdParams,
    success: { status: 200, body: Webhook },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params }, { deliveries }) => adoptWebhook(work, deliveries, params.id),
  }),
  route({
    id: "webhooks.enable",
    method: "POST",
    path: "/api/v1/webhooks/{id}/enable",
    summary: "Enable a webhook",
    description:
      "Deliveries held meanwhile are sent in the order of their events, unless `held` discards " +
      "them all, or those of events before a time. `release_id` identifies the recovery that " +
      "reports the progress.",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "webhook_enabled, when it was disabled" },
    params: IdParams,
    body: z.strictObject({ held: HeldChoice.default("deliver") }),
    success: { status: 200, body: Webhook },
    faults: ["NOT_FOUND"],
    handle: (work, { params, body }, { deliveries }) =>
      enableWebhook(work, deliveries, params.id, body.held),
  }),
  route({
    id: "webhooks.disable",
    method: "POST",
    path: "/api/v1/webhooks/{id}/disable",
    summary: "Disable a webhook",
    description: "Deliveries are held until the webhook is enabled.",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "webhook_disabled, when it was enabled" },
    params: IdParams,
    body: z.strictObject({}),
    success: { status: 200, body: Webhook },
    faults: ["NOT_FOUND"],
    handle: (work, { params }, { deliveries }) => disableWebhook(work, deliveries, params.id),
  }),
  route({
    id: "webhooks.test",
    method: "POST",
    path: "/api/v1/webhooks/{id}/test",
    summary: "Send a test event to a webhook",
    description:
      "Sends a ping or the example of an event type, whatever the webhook subscribes to. The " +
      "delivery's body is marked as `test`. A disabled webhook returns 409: enable it first.",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "webhook_tested",
      resource: "webhook",
      id: (delivery) => delivery.webhook_id,
      details: ({ id, event_type }) => ({ delivery_id: id, event_type }),
    },
    params: IdParams,
    body: z.strictObject({ event_type: TestType.default("ping") }),
    success: { status: 202, body: Delivery },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params, body }, { deliveries }) =>
      testWebhook(work, deliveries, params.id, body.event_type),
  }),
  route({
    id: "webhooks.event_types",
    method: "GET",
    path: "/api/v1/webhooks/event-types",
    summary: "List webhook event types",
    description: "Includes the schema and an example of each type.",
    access: { scope: "system:read" },
    effect: "read",
    success: { status: 200, body: EventTypes },
    faults: [],
    handle: () => listEventTypes(),
  }),
];
