import type { Tenant } from "../kv/collection.ts";
import { notifications } from "../kv/records/notification.ts";
import { users } from "../kv/records/user.ts";
import type { Tx } from "../kv/tx.ts";
import type { App } from "./app.ts";
import type { Happening } from "./events.ts";

const KEPT_MS = 90 * 24 * 60 * 60 * 1000;
/** What one person has at most; the oldest make room. */
export const NOTIFICATIONS_MAX = 100;
/** People who are looked at for administrators, oldest first: who founded an organization is among them. */
const USERS_READ_MAX = 500;
/** Administrators who are told of one thing. */
const TOLD_MAX = 50;
const ADMINISTRATORS = ["owner", "admin"];

/** Puts a notification on record for each active owner and administrator, with the change that it tells of. */
export async function notifyAdministrators(
  app: App,
  tx: Tx,
  { org, space }: Tenant,
  { type, resource, details }: Happening,
): Promise<void> {
  const { clock, entropy } = app.ports;
  const home: Tenant = { org, space: "live" };
  const { items } = await tx.list(users, home, { limit: USERS_READ_MAX });
  const told = items
    .filter(({ active, roles }) => active && roles.some((role) => ADMINISTRATORS.includes(role)))
    .slice(0, TOLD_MAX);
  const now = clock.now();
  for (const { id: user_id } of told) {
    tx.insert(notifications, home, {
      id: entropy.id("ntf"),
      user_id,
      type,
      space,
      resource_type: resource.type,
      resource_id: resource.id,
      details: { ...details },
      created_at_ms: now,
      read_at_ms: null,
      expires_at_ms: now + KEPT_MS,
    });
  }
  tx.afterCommit(() => {
    Promise.all(told.map(({ id }) => trim(app, home, id))).catch((error) => {
      app.ports.log.error("old notifications could not be removed", { error: String(error) });
    });
  });
}

/** Removes the oldest notifications beyond what one person may have; a crash leaves that to the next one. */
async function trim({ store }: App, home: Tenant, userId: string): Promise<void> {
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
