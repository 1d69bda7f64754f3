import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { notifications, recentNotifications } from "../../../kv/records/notification.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Scope } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { emit, type Notice, RELAY_ACTOR } from "../../events/events.ts";
import { homeOf } from "../roles/grant.ts";
import { rightsOf } from "../roles/rights.ts";

type Needs = Pick<Context, "store" | "ports" | "signals">;

const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
/** Maximum number of notifications of one person; the oldest are removed. */
export const NOTIFICATIONS_MAX = 100;
/** People who are considered, oldest first, so that the founder of an organization is among them. */
const USERS_READ_MAX = 500;
/** Recipients of one notice. */
const RECIPIENTS_MAX = 50;
const ADMINISTRATORS = ["owner", "admin"];

const isAdministrator = ({ roles }: UserRecord) =>
  roles.some((role) => ADMINISTRATORS.includes(role));

/** Notifies each active owner and administrator, in the transaction of the change. */
export async function notifyAdministrators(
  context: Needs,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
): Promise<void> {
  await notify(context, tx, tenant, notice, isAdministrator);
}

/** Notifies each active owner and administrator, and one more person. */
export async function notifyWithAdministrators(
  context: Needs,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
  userId: string,
): Promise<void> {
  await notify(context, tx, tenant, notice, (user) => user.id === userId || isAdministrator(user));
}

/** Notifies one person. */
export async function notifyPerson(
  context: Needs,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
  userId: string,
): Promise<void> {
  const user = await tx.get(users, homeOf(tenant.org), userId);
  if (user?.active) send(context, tx, tenant, notice, [user]);
}

/** Notifies each active owner and administrator, and everybody else who may change the settings. */
export async function notifySettingsEditors(
  context: Needs,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
): Promise<void> {
  const organization = await context.store.get(organizations, SYSTEM, tenant.org);
  if (organization === null) return;
  const isRecipient = async (user: UserRecord) =>
    isAdministrator(user) ||
    (await rightsOf(context.store, organization, user.roles)).has("system:write");
  await notify(context, tx, tenant, notice, isRecipient);
}

/** Notifies each active person who has a right now and whom `meant` accepts. */
export async function notifyHolders(
  context: Needs,
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

/** True for the first notice of this name within `ms`; the commit records it. */
export async function isFirstWithin(
  context: Needs,
  tx: Tx,
  tenant: Tenant,
  what: string,
  ms: number,
): Promise<boolean> {
  if (await tx.get(recentNotifications, tenant, what) !== null) return false;
  tx.put(recentNotifications, tenant, { id: what, expires_at_ms: context.ports.clock.now() + ms });
  return true;
}

async function notify(
  context: Needs,
  tx: Tx,
  tenant: Tenant,
  notice: Notice,
  isRecipient: (user: UserRecord) => boolean | Promise<boolean>,
): Promise<void> {
  const { items } = await tx.list(users, homeOf(tenant.org), { limit: USERS_READ_MAX });
  const meant: UserRecord[] = [];
  for (const user of items) {
    if (meant.length === RECIPIENTS_MAX) break;
    if (user.active && await isRecipient(user)) meant.push(user);
  }
  send(context, tx, tenant, notice, meant);
}

function send(
  context: Needs,
  tx: Tx,
  tenant: Tenant,
  { type, resource, agentId, details }: Notice,
  people: readonly UserRecord[],
): void {
  const { ports, signals } = context;
  const { clock, entropy } = ports;
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
  // The recipients' event streams carry it, like any event of the log.
  emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
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
  const userIds = told.map(({ user_id }) => user_id);
  tx.afterCommit(() => signals.peopleNotified.send({ home, userIds }));
}

/** Removes each person's oldest notifications beyond the maximum; after a crash the next notification does it. */
export async function trimNotifications(
  { store }: Pick<Context, "store">,
  { home, userIds }: { readonly home: Tenant; readonly userIds: readonly string[] },
): Promise<void> {
  await Promise.all(userIds.map((userId) => trim(store, home, userId)));
}

async function trim(store: Store, home: Tenant, userId: string): Promise<void> {
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
