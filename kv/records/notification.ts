import { z } from "zod";
import { collection } from "../store/collection.ts";

/** A notification for one person, in the live space of the organization. */
export const NotificationRecord = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  /** The audit event's type. */
  type: z.string(),
  /** The space of the event. */
  space: z.enum(["live", "test"]),
  resource_type: z.string(),
  resource_id: z.string(),
  details: z.record(z.string(), z.unknown()),
  created_at_ms: z.number(),
  read_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type NotificationRecord = z.infer<typeof NotificationRecord>;

export const notifications = collection({
  name: "notifications",
  schema: NotificationRecord,
  index: { user: (n) => [n.user_id] },
  expiresAt: (n) => n.expires_at_ms,
});

/** A notification that was sent recently and is not sent again, in the event's space. The id names it. */
const RecentNotificationRecord = z.strictObject({ id: z.string(), expires_at_ms: z.number() });

export const recentNotifications = collection({
  name: "told_once",
  schema: RecentNotificationRecord,
  expiresAt: (recent) => recent.expires_at_ms,
});
