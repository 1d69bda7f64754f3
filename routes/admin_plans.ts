import { z } from "zod";
import { createPlan, deletePlan, listPlans, updatePlan } from "../core/host/host.ts";
import { UNLIMITED } from "../core/access/access.ts";
import { HOST_WRITES, route } from "./call/route.ts";
import {
  changeOf,
  DeletedResource,
  IdParams,
  listOf,
  Name,
  PageQuery,
  Timestamp,
} from "./schemas/schemas.ts";

const Price = z.number().min(0).max(1_000_000)
  .refine((price) => Math.round(price * 100) / 100 === price, "must have at most two decimals")
  .meta({ description: "The price of a month, in units of the currency.", multipleOf: 0.01 });
const Features = z.array(Name).max(32).meta({ description: "The features, in words." });
const Currency = z.string().regex(/^[A-Z]{3}$/, "must be three capital letters, as in ISO 4217");
const PerMinute = z.int().min(1).max(2_147_483_646).nullable()
  .meta({ description: "Shared by all keys and users of an account; null means unlimited." });

const NewPlan = z.strictObject({
  name: Name,
  price: Price,
  features: Features,
  currency: Currency.default("USD"),
  requests_per_minute: PerMinute.default(100),
});
const Plan = z.object({
  id: z.string(),
  name: z.string(),
  price: z.number(),
  currency: z.string(),
  features: z.array(z.string()),
  requests_per_minute: z.int().meta({
    description: "The limit in force; 2147483647 means no limit.",
  }),
  limit_source: z.enum(["plan", "configuration"]).meta({ id: "LimitSource" }),
  accounts: z.int().nullable().meta({
    description: "The number of accounts with this plan; null except for the host.",
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "Plan" });

const PlanChange = changeOf(Plan, {
  name: Name.optional(),
  price: Price.optional(),
  features: Features.optional(),
  currency: Currency.optional(),
  requests_per_minute: z.union([PerMinute, z.literal(UNLIMITED)]).optional().meta({
    description: "Shared by all keys and users of an account; null or 2147483647 means unlimited.",
  }),
});

export const adminPlanRoutes = [
  route({
    id: "plans.list",
    method: "GET",
    path: "/api/admin/plans",
    summary: "List plans",
    description: "The host organization sees all of them; any other organization sees its own.",
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("plans", Plan) },
    faults: [],
    handle: (work, { query }) => listPlans(work, query),
  }),
  route({
    id: "plans.create",
    method: "POST",
    path: "/api/admin/plans",
    summary: "Create a plan",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "write",
    audit: {
      event: "plan_created",
      resource: "plan",
      id: ({ id }) => id,
      details: ({ name, price, currency }) => ({ name, price, currency }),
    },
    body: NewPlan,
    success: { status: 201, body: Plan },
    faults: ["CONFLICT"],
    handle: (work, { body }) => createPlan(work, body),
  }),
  route({
    id: "plans.update",
    method: "PUT",
    path: "/api/admin/plans/{id}",
    summary: "Change a plan",
    description:
      "Fields that are left out stay unchanged. A limit takes effect with the next request of " +
      "every account with the plan, a price with the next subscription. The record's other " +
      "fields may be sent back as they were read.",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "write",
    audit: { byRule: "plan_updated, when something changes" },
    params: IdParams,
    body: PlanChange,
    success: { status: 200, body: Plan },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params, body }) => updatePlan(work, params.id, body),
  }),
  route({
    id: "plans.delete",
    method: "DELETE",
    path: "/api/admin/plans/{id}",
    summary: "Delete a plan that no account has",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "write",
    audit: {
      event: "plan_deleted",
      resource: "plan",
      id: ({ id }) => id,
      details: ({ name }) => ({ name }),
    },
    params: IdParams,
    success: { status: 204, about: DeletedResource },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params }) => deletePlan(work, params.id),
  }),
];
