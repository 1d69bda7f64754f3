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
  requests_per_minute: z.int().meta({ description: "In force; 2147483647 means no limit." }),
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
  amount: z.number().meta({ description: "The whole price of the new plan." }),
  currency: z.string(),
  status: z.enum(["completed"]),
  proration: z.enum(["none"]).meta({ description: "Nothing is given back for the old plan." }),
  created_at: Timestamp,
}).meta({ id: "Order" });

const OWN = "The host organization sees all of them, another organization its own.";

export const adminAccountRoutes = [
  route({
    id: "accounts.list",
    method: "GET",
    path: "/api/admin/accounts",
    summary: "Accounts: the organizations of this installation",
    description: OWN,
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    query: PageQuery.extend({
      active: Flag.optional().meta({ description: "Accounts that are switched on, or off." }),
      plan_id: Id.optional().meta({ description: "Accounts of this plan." }),
    }),
    success: { status: 200, body: listOf("accounts", Account) },
    faults: [],
    handle: (work, { query }) => listAccounts(work, query),
  }),
  route({
    id: "accounts.change_plan",
    method: "PUT",
    path: "/api/admin/accounts/{id}/plan",
    summary: "Give an account another plan",
    description: "In force for the account's next request. The subscription that it had ends, a " +
      "new one begins, and an order over the new plan's whole price is made: nothing is prorated.",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "write",
    audit: { byRule: "account_plan_changed, with the host and with the account" },
    params: IdParams,
    body: z.strictObject({ plan_id: Id }),
    rules: { "body.plan_id": "is the id of a plan" },
    success: { status: 200, body: Account.extend({ subscription: Subscription, order: Order }) },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params, body }) => changePlan(work, params.id, body.plan_id),
  }),
  route({
    id: "accounts.toggle",
    method: "POST",
    path: "/api/admin/accounts/{id}/toggle",
    summary: "Switch an account off, or on again",
    description: "Off: no request with its sessions and keys that begins after this answer is " +
      "accepted, and its streams and agents' links end within a second. On: what has not " +
      "expired works again. The host cannot switch itself off.",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "write",
    audit: { byRule: "account_activated or account_deactivated, with the host and the account" },
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
    summary: "Subscriptions",
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
    summary: "Orders",
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
