import { z } from "zod";
import { collection } from "../store/collection.ts";

/** What one person should know. Lives in the live space of the organization, as its people do. */
export const NotificationRecord = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  /** What happened, as the audit trail calls it. */
  type: z.string(),
  /** Where it happened. */
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

/** What people were told of lately and need not be told again. Lives where it happened; the id says what. */
const ToldOnceRecord = z.strictObject({ id: z.string(), expires_at_ms: z.number() });

export const toldOnce = collection({
  name: "told_once",
  schema: ToldOnceRecord,
  expiresAt: (told) => told.expires_at_ms,
});
