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
  excludes,
  IdParams,
  listOf,
  Name,
  Named,
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

const HEADER_RULE = "are names and values that HTTP can carry, none of them Relay's own";

export const webhookRoutes = [
  route({
    id: "webhooks.create",
    method: "POST",
    path: "/api/v1/webhooks",
    summary: "Create a webhook",
    description: "Without a `secret` Relay makes one, which is in this answer only.",
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
      active: z.boolean().default(true).meta({ description: "False holds what happens." }),
    }),
    noStore: true,
    rules: {
      "body.url": "is an http or https address that may be reached",
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
    summary: "List webhooks of the organization",
    access: { scope: "system:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("webhooks", Webhook) },
    faults: [],
    tool: { destructive: false },
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
    summary: "Change a webhook, for every attempt from now on",
    description:
      "What is given replaces what was there; a retry policy is changed field by field. " +
      "After a change of the secret the old one signs beside the new one for 24 hours. Whoever " +
      "changes more than the name or the policy must be allowed to read the webhook's events; " +
      "so must its creator, when they change. Another `url` takes secrets:read as long as stored " +
      "header values stay. A record that was read can be sent back: a header value of `********` " +
      "keeps the stored one, and read-only fields must be as they were.",
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
        description: "Enables the webhook and delivers what was held, or disables it.",
      }),
      events: Events.optional(),
      secret: Secret.optional(),
      headers: Headers.optional(),
      custom_headers: Headers.optional().meta({ description: "The same as `headers`." }),
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
      "body.url": "is an http or https address that may be reached",
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
    success: { status: 204, about: Named.extend({ url: z.string() }) },
    faults: ["NOT_FOUND"],
    handle: (work, { params }, { deliveries }) => deleteWebhook(work, deliveries, params.id),
  }),
  route({
    id: "webhooks.adopt",
    method: "POST",
    path: "/api/v1/webhooks/{id}/adopt",
    summary: "Take over a webhook that is suspended",
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
    summary: "Enable a webhook, and say what becomes of the deliveries that were held for it",
    description:
      "They go out in the order of their events, unless `held` says to discard them, or " +
      "those of events before an instant. `release_id` names the recovery that tells how far it is.",
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
    summary: "Disable a webhook: what happens is held for it",
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
    summary: "Send a ping test event, or the example of an event type",
    description:
      "The body of the delivery says `test`. It is sent whatever the webhook subscribes to. A " +
      "disabled webhook is 409: enable it first.",
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
    summary: "What a webhook may subscribe to, with schemas and examples",
    access: { scope: "system:read" },
    effect: "read",
    success: { status: 200, body: EventTypes },
    faults: [],
    handle: () => listEventTypes(),
  }),
];
