import { type NotificationRecord, notifications } from "../../../kv/records/notification.ts";
import type { Work, Writing } from "../../work/work.ts";
import type { Actor, Scope } from "../../identity/identity.ts";
import { Fault } from "../../fault/fault.ts";
import { pageOf, type Paging } from "../../../kv/store/paging.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { NOTICES } from "../../events/events.ts";
import { NOTIFICATIONS_MAX } from "./notify.ts";
import { homeOf } from "../roles/grant.ts";
import { mustActForPerson } from "./person.ts";

/** Above the maximum, to include surplus ones that are about to be removed. */
const READ_MAX = 2 * NOTIFICATIONS_MAX;

/** Filters of a list of notifications. */
export interface NotificationQuery extends Paging {
  readonly unread?: boolean | undefined;
}

/** The caller's notifications that they may still see, newest first. */
export async function listNotifications(
  { db, actor }: Work,
  { unread, ...paging }: NotificationQuery,
) {
  const { items } = await db.list(notifications, homeOf(actor.tenant.org), {
    index: "user",
    prefix: [actor.userId],
    reverse: true,
    limit: READ_MAX,
  });
  const own = items.filter((notice) => maySee(actor, notice));
  const wanted = unread ? own.filter(({ read_at_ms }) => read_at_ms === null) : own;
  const { items: page, pagination } = pageOf(wanted, paging);
  return {
    notifications: page.map(showNotification),
    unread: own.filter(({ read_at_ms }) => read_at_ms === null).length,
    pagination,
  };
}

/** Marks a notification as read; the first time stays. @throws {Fault} FORBIDDEN, NOT_FOUND */
export async function readNotification({ ports, actor, tx }: Writing, id: string) {
  mustActForPerson(actor);
  const home = homeOf(actor.tenant.org);
  const notice = await tx.get(notifications, home, id);
  if (notice === null || notice.user_id !== actor.userId || !maySee(actor, notice)) {
    throw new Fault("NOT_FOUND", "There is no such notification.");
  }
  if (notice.read_at_ms !== null) return showNotification(notice);
  const read_at_ms = ports.clock.now();
  return showNotification(tx.put(notifications, home, { ...notice, read_at_ms }));
}

/** The caller sees notifications of their space; a person in the live space sees both. */
function maySee({ kind, tenant, rights }: Actor, { type, space }: NotificationRecord): boolean {
  const here = space === tenant.space || (kind === "user" && tenant.space === "live");
  const scope = scopeOf(type);
  return here && (scope === null || rights.has(scope));
}

const scopeOf = (type: string): Scope | null =>
  Object.hasOwn(NOTICES, type) ? NOTICES[type as keyof typeof NOTICES].scope : "system:read";

const showNotification = (notice: NotificationRecord) => ({
  id: notice.id,
  type: notice.type,
  space: notice.space,
  resource_type: notice.resource_type,
  resource_id: notice.resource_id,
  details: { ...notice.details },
  created_at: iso(notice.created_at_ms),
  read_at: isoOrNull(notice.read_at_ms),
});
