import { z } from "zod";
import { collection } from "../store/collection.ts";

/** A plan: its features, limit and price, in the system tenant. */
export const PlanRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  /** The price of a month, in units of the currency. */
  price: z.number(),
  /** ISO 4217. */
  currency: z.string(),
  features: z.array(z.string()),
  /** Shared by all keys and users of an account; null is unlimited. */
  requests_per_minute: z.int().nullable(),
  created_at_ms: z.number(),
  updated_at_ms: z.number(),
});
export type PlanRecord = z.infer<typeof PlanRecord>;

export const plans = collection({
  name: "plans",
  schema: PlanRecord,
  unique: { name: (plan) => [plan.name.toLowerCase()] },
  counted: true,
  cached: 1_000,
});

/** How many accounts have a plan, in its own row, so that a plan's row changes only with the plan. */
const PlanHoldersRecord = z.strictObject({ id: z.string(), accounts: z.int() });

export const planHolders = collection({ name: "plan_holders", schema: PlanHoldersRecord });

/** An account's plan, present or past, with the name and price at its start. */
export const SubscriptionRecord = z.strictObject({
  id: z.string(),
  account_id: z.string(),
  plan_id: z.string(),
  plan_name: z.string(),
  price: z.number(),
  currency: z.string(),
  status: z.enum(["active", "ended"]),
  started_at_ms: z.number(),
  ended_at_ms: z.number().nullable(),
});
export type SubscriptionRecord = z.infer<typeof SubscriptionRecord>;

export const subscriptions = collection({
  name: "subscriptions",
  schema: SubscriptionRecord,
  unique: { active: (some) => some.status === "active" ? [some.account_id] : null },
  index: { account: (some) => [some.account_id] },
  counted: true,
});

/** An account's change of plan. */
export const OrderRecord = z.strictObject({
  id: z.string(),
  account_id: z.string(),
  subscription_id: z.string(),
  plan_id: z.string(),
  plan_name: z.string(),
  previous_plan_id: z.string(),
  amount: z.number(),
  currency: z.string(),
  ordered_by: z.string(),
  created_at_ms: z.number(),
});
export type OrderRecord = z.infer<typeof OrderRecord>;

export const orders = collection({
  name: "orders",
  schema: OrderRecord,
  index: { account: (order) => [order.account_id] },
  counted: true,
});
