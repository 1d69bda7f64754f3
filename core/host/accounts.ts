import { SYSTEM } from "../../kv/store/collection.ts";
import { type OrganizationRecord, organizations } from "../../kv/records/organization.ts";
import {
  type OrderRecord,
  orders,
  type PlanRecord,
  plans,
  type SubscriptionRecord,
  subscriptions,
} from "../../kv/records/plan.ts";
import { users } from "../../kv/records/user.ts";
import type { Work, Writing } from "../work/work.ts";
import { type DetailsOf, emit } from "../events/events.ts";
import { Fault } from "../fault/fault.ts";
import { homeOf, planLimit, UNLIMITED } from "../access/access.ts";
import { listPage, pageOf, type Paging } from "../../kv/store/paging.ts";
import { iso, isoOrNull } from "../codec/codec.ts";
import { subscribe } from "./plans/subscribe.ts";

/** Sends webhook deliveries that are due. */
interface DeliveryQueue {
  sweep(): unknown;
}

interface Filter extends Paging {
  readonly active?: boolean | undefined;
  readonly plan_id?: string | undefined;
}

/** Accounts, oldest first. The host sees all of them, another organization only itself. */
export async function listAccounts(work: Work, { active, plan_id, ...paging }: Filter) {
  const { db, actor } = work;
  if (!actor.host) {
    const own = await db.get(organizations, SYSTEM, actor.tenant.org);
    const fits = own !== null && (active ?? own.active) === own.active &&
      (plan_id ?? own.plan) === own.plan;
    const { items, pagination } = pageOf(fits ? [await showAccount(work, own)] : [], paging);
    return { accounts: items, pagination };
  }
  const state = active === undefined ? [] : [active ? "yes" : "no"];
  const by = plan_id !== undefined
    ? { index: "plan", prefix: [plan_id, ...state] }
    : state.length > 0
    ? { index: "active", prefix: state }
    : {};
  const { items, pagination } = await listPage(db, organizations, SYSTEM, { ...paging, ...by });
  return { accounts: await Promise.all(items.map((one) => showAccount(work, one))), pagination };
}

/**
 * Gives an account another plan at once: ends the old subscription, begins a new one and records an order.
 * Nothing is prorated.
 * @throws {Fault} NOT_FOUND, VALIDATION_FAILED, CONFLICT
 */
export async function changePlan(work: Writing, id: string, planId: string) {
  const { ports, actor, tx } = work;
  const account = await accountOf(work, id);
  if (account.plan === planId) throw new Fault("CONFLICT", "The account already has this plan.");
  const { plan, subscription } = await subscribe(ports, tx, id, planId);
  const order = tx.insert(orders, SYSTEM, {
    id: ports.entropy.id("ord"),
    account_id: id,
    subscription_id: subscription.id,
    plan_id: planId,
    plan_name: plan.name,
    previous_plan_id: account.plan,
    amount: plan.price,
    currency: plan.currency,
    ordered_by: actor.userId,
    created_at_ms: ports.clock.now(),
  });
  const changed = tx.put(organizations, SYSTEM, { ...account, plan: planId });
  const details = {
    account_id: id,
    plan_id: planId,
    previous_plan_id: account.plan,
    order_id: order.id,
  };
  recordForBoth(work, id, "account_plan_changed", details);
  return {
    ...await showAccount(work, changed),
    subscription: showSubscription(subscription),
    order: showOrder(order),
  };
}

/**
 * Switches an account off or on. Off: requests that begin after the response are refused, and the account's
 * streams and links end within a second. On: unexpired sessions and keys work again, and webhook deliveries
 * that are due are sent.
 * @throws {Fault} NOT_FOUND, CONFLICT
 */
export async function switchAccount(
  work: Writing,
  deliveries: DeliveryQueue,
  id: string,
  active: boolean,
) {
  const { tx } = work;
  const account = await accountOf(work, id);
  if (account.host && !active) {
    throw new Fault("CONFLICT", "The host organization cannot be deactivated.");
  }
  if (account.active === active) return await showAccount(work, account);
  const type = active ? "account_activated" : "account_deactivated";
  recordForBoth(work, id, type, { account_id: id, name: account.name });
  if (active) tx.afterCommit(() => deliveries.sweep());
  return await showAccount(work, tx.put(organizations, SYSTEM, { ...account, active }));
}

/** Records the event for the host, which made the change, and for the account. */
function recordForBoth<
  T extends "account_plan_changed" | "account_activated" | "account_deactivated",
>(
  work: Writing,
  id: string,
  type: T,
  details: DetailsOf<T>,
): void {
  const happening = { type, resource: { type: "account" as const, id }, details };
  emit(work, work.tx, work.actor.tenant, happening);
  if (id === work.actor.tenant.org) return;
  // The account does not learn which person at the host did it.
  emit({ ...work, actor: { id: "host" } }, work.tx, homeOf(id), happening);
}

/** Subscriptions, oldest first: all of them for the host, else the caller's own. */
export async function listSubscriptions({ db, actor }: Work, paging: Paging) {
  const options = { ...paging, ...ownOnly(actor) };
  const { items, pagination } = await listPage(db, subscriptions, SYSTEM, options);
  return { subscriptions: items.map(showSubscription), pagination };
}

/** Orders, oldest first: all of them for the host, else the caller's own. */
export async function listOrders({ db, actor }: Work, paging: Paging) {
  const options = { ...paging, ...ownOnly(actor) };
  const { items, pagination } = await listPage(db, orders, SYSTEM, options);
  return { orders: items.map(showOrder), pagination };
}

const ownOnly = ({ host, tenant }: Work["actor"]) =>
  host ? {} : { index: "account", prefix: [tenant.org] };

async function accountOf({ tx }: Writing, id: string): Promise<OrganizationRecord> {
  const account = await tx.get(organizations, SYSTEM, id);
  if (account === null) throw new Fault("NOT_FOUND", "There is no such account.");
  return account;
}

async function showAccount({ config, db }: Work, account: OrganizationRecord) {
  const plan: PlanRecord | null = await db.get(plans, SYSTEM, account.plan);
  const { limit } = planLimit(config(), account, plan?.requests_per_minute);
  return {
    id: account.id,
    name: account.name,
    plan_id: account.plan,
    plan_name: plan?.name ?? account.plan,
    active: account.active,
    host: account.host,
    requests_per_minute: limit ?? UNLIMITED,
    users: await db.count(users, homeOf(account.id)),
    created_at: iso(account.created_at_ms),
  };
}

const showSubscription = (some: SubscriptionRecord) => ({
  id: some.id,
  account_id: some.account_id,
  plan_id: some.plan_id,
  plan_name: some.plan_name,
  price: some.price,
  currency: some.currency,
  status: some.status,
  started_at: iso(some.started_at_ms),
  ended_at: isoOrNull(some.ended_at_ms),
});

const showOrder = (order: OrderRecord) => ({
  id: order.id,
  account_id: order.account_id,
  subscription_id: order.subscription_id,
  plan_id: order.plan_id,
  plan_name: order.plan_name,
  previous_plan_id: order.previous_plan_id,
  amount: order.amount,
  currency: order.currency,
  status: "completed" as const,
  // The new plan costs its whole price; the old one is not refunded.
  proration: "none" as const,
  created_at: iso(order.created_at_ms),
});
