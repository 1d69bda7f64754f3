import type { Tenant } from "../../../kv/store/collection.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { notifications, toldOnce } from "../../../kv/records/notification.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../work/work.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";
import type { Notice } from "../../events/types/notices.ts";
import { homeOf } from "../roles/grant.ts";
import { rightsOf } from "../roles/rights.ts";
import type { Scope } from "../../work/scopes.ts";

const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
/** What one person has at most; the oldest make room. */
export const NOTIFICATIONS_MAX = 100;
/** People who are looked at for those to tell, oldest first: who founded an organization is among them. */
const USERS_READ_MAX = 500;
/** People who are told of one thing. */
const TOLD_MAX = 50;
const ADMINISTRATORS = ["owner", "admin"];

const isAdministrator = ({ roles }: UserRecord) =>
  roles.some((role) => ADMINISTRATORS.includes(role));

/** Tells each active owner and administrator, with the change that it is about. */
export async function notifyAdministrators(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
): Promise<void> {
  await notify(context, tx, tenant, notice, isAdministrator);
}

/** Tells each active owner and administrator, and one person more. */
export async function notifyWithAdministrators(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
  userId: string,
): Promise<void> {
  await notify(context, tx, tenant, notice, (user) => user.id === userId || isAdministrator(user));
}

/** Tells one person of their own affairs. */
export async function notifyPerson(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
  userId: string,
): Promise<void> {
  const user = await tx.get(users, homeOf(tenant.org), userId);
  if (user?.active) tell(context, tx, tenant, notice, [user]);
}

/** Tells each active owner and administrator, and whoever else may change the settings. */
export async function notifySettingsKeepers(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
): Promise<void> {
  const organization = await context.store.get(organizations, SYSTEM, tenant.org);
  if (organization === null) return;
  const isTold = async (user: UserRecord) =>
    isAdministrator(user) ||
    (await rightsOf(context.store, organization, user.roles)).has("system:write");
  await notify(context, tx, tenant, notice, isTold);
}

/** Tells each active person who has a right now, and is one of those meant. */
export async function notifyHolders(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
  scope: Scope,
  meant: (user: UserRecord) => boolean = () => true,
): Promise<void> {
  const organization = await context.store.get(organizations, SYSTEM, tenant.org);
  if (organization === null) return;
  await notify(
    context,
    tx,
    tenant,
    notice,
    async (user) =>
      meant(user) && (await rightsOf(context.store, organization, user.roles)).has(scope),
  );
}

/** True the first time that something is told within `ms`, which is on record with this commit. */
export async function isFirstWithin(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  what: string,
  ms: number,
): Promise<boolean> {
  if (await tx.get(toldOnce, tenant, what) !== null) return false;
  tx.put(toldOnce, tenant, { id: what, expires_at_ms: context.ports.clock.now() + ms });
  return true;
}

async function notify(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
  isTold: (user: UserRecord) => boolean | Promise<boolean>,
): Promise<void> {
  const { items } = await tx.list(users, homeOf(tenant.org), { limit: USERS_READ_MAX });
  const meant: UserRecord[] = [];
  for (const user of items) {
    if (meant.length === TOLD_MAX) break;
    if (user.active && await isTold(user)) meant.push(user);
  }
  tell(context, tx, tenant, notice, meant);
}

function tell(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  { type, resource, agentId, details }: Notice,
  people: readonly UserRecord[],
): void {
  const { clock, entropy } = context.ports;
  const home = homeOf(tenant.org);
  const told: { user_id: string; id: string }[] = [];
  const now = clock.now();
  for (const user of people) {
    const id = entropy.id("ntf");
    told.push({ user_id: user.id, id });
    tx.insert(notifications, home, {
      id,
      user_id: user.id,
      type,
      space: tenant.space,
      resource_type: resource.type,
      resource_id: resource.id,
      details: { ...details },
      created_at_ms: now,
      read_at_ms: null,
      expires_at_ms: now + KEPT_MS,
    });
  }
  if (told[0] === undefined) return;
  // The streams of those who are told carry it from the log, like any event.
  emit({ ports: context.ports, signals: context.signals, actor: RELAY_ACTOR }, tx, tenant, {
    type: "notification_sent",
    resource: { type: "notification", id: told[0].id },
    agentId: resource.type === "agent" ? resource.id : agentId,
    details: {
      type,
      told,
      about_type: resource.type,
      about_id: resource.id,
      about: { ...details },
    },
  });
  tx.afterCommit(() => {
    Promise.all(told.map(({ user_id }) => trim(context, home, user_id))).catch((error) => {
      context.ports.log.error("old notifications could not be removed", { error: String(error) });
    });
  });
}

/** Removes the oldest notifications beyond what one person may have; a crash leaves that to the next one. */
async function trim({ store }: Context, home: Tenant, userId: string): Promise<void> {
  const newest = { index: "user", prefix: [userId], reverse: true };
  const { items } = await store.list(notifications, home, {
    ...newest,
    offset: NOTIFICATIONS_MAX,
    limit: NOTIFICATIONS_MAX,
  });
  for (const { id } of items) {
    await store.transact(async (tx) => {
      if (await tx.get(notifications, home, id) !== null) tx.delete(notifications, home, id);
    });
  }
}
