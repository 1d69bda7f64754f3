import { z } from "zod";
import {
  changePlan,
  listAccounts,
  listOrders,
  listSubscriptions,
  switchAccount,
} from "../core/host/host.ts";
import { HOST_WRITES, route } from "./call/route.ts";
import { Flag, Id, IdParams, listOf, PageQuery, Timestamp } from "./schemas/schemas.ts";

const Account = z.object({
  id: z.string(),
  name: z.string(),
  plan_id: z.string(),
  plan_name: z.string(),
  active: z.boolean(),
  host: z.boolean(),
  requests_per_minute: z.int().meta({
    description: "The limit in force; 2147483647 means no limit.",
  }),
  users: z.int(),
  created_at: Timestamp,
}).meta({ id: "Account" });

const Subscription = z.object({
  id: z.string(),
  account_id: z.string(),
  plan_id: z.string(),
  plan_name: z.string(),
  price: z.number(),
  currency: z.string(),
  status: z.enum(["active", "ended"]),
  started_at: Timestamp,
  ended_at: Timestamp.nullable(),
}).meta({ id: "Subscription" });

const Order = z.object({
  id: z.string(),
  account_id: z.string(),
  subscription_id: z.string(),
  plan_id: z.string(),
  plan_name: z.string(),
  previous_plan_id: z.string(),
  amount: z.number().meta({ description: "The full price of the new plan." }),
  currency: z.string(),
  status: z.enum(["completed"]),
  proration: z.enum(["none"]).meta({ description: "Always `none`: the old plan is not refunded." }),
  created_at: Timestamp,
}).meta({ id: "Order" });

const OWN = "The host organization sees all of them; any other organization sees its own.";

export const adminAccountRoutes = [
  route({
    id: "accounts.list",
    method: "GET",
    path: "/api/admin/accounts",
    summary: "List accounts",
    description: OWN,
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    query: PageQuery.extend({
      active: Flag.optional().meta({ description: "Accounts that are active, or inactive." }),
      plan_id: Id.optional().meta({ description: "Accounts with this plan." }),
    }),
    success: { status: 200, body: listOf("accounts", Account) },
    faults: [],
    handle: (work, { query }) => listAccounts(work, query),
  }),
  route({
    id: "accounts.change_plan",
    method: "PUT",
    path: "/api/admin/accounts/{id}/plan",
    summary: "Change an account's plan",
    description:
      "It takes effect with the account's next request. The current subscription ends, a new " +
      "one begins, and an order for the full price of the new plan is created; nothing is " +
      "prorated.",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "write",
    audit: { byRule: "account_plan_changed, in the log of the host and of the account" },
    params: IdParams,
    body: z.strictObject({ plan_id: Id }),
    rules: { "body.plan_id": "must be the id of a plan" },
    success: { status: 200, body: Account.extend({ subscription: Subscription, order: Order }) },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params, body }) => changePlan(work, params.id, body.plan_id),
  }),
  route({
    id: "accounts.toggle",
    method: "POST",
    path: "/api/admin/accounts/{id}/toggle",
    summary: "Activate or deactivate an account",
    description:
      "Deactivating takes effect before the response: requests with the account's sessions and " +
      "keys are refused, and its streams and agent links close within a second. Activating " +
      "restores all credentials that have not expired. The host cannot deactivate itself.",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "write",
    audit: {
      byRule: "account_activated or account_deactivated, in the log of the host and of the account",
    },
    params: IdParams,
    body: z.strictObject({ active: z.boolean() }),
    success: { status: 200, body: Account },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params, body }, { deliveries }) =>
      switchAccount(work, deliveries, params.id, body.active),
  }),
  route({
    id: "subscriptions.list",
    method: "GET",
    path: "/api/admin/subscriptions",
    summary: "List subscriptions",
    description: OWN,
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("subscriptions", Subscription) },
    faults: [],
    handle: (work, { query }) => listSubscriptions(work, query),
  }),
  route({
    id: "orders.list",
    method: "GET",
    path: "/api/admin/orders",
    summary: "List orders",
    description: OWN,
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("orders", Order) },
    faults: [],
    handle: (work, { query }) => listOrders(work, query),
  }),
];
