import type { Tenant } from "../../../kv/store/collection.ts";
import type { EventRow } from "../emit.ts";
import { NOTICES, type NoticeType } from "../types/notices.ts";
import type { Scope } from "../../identity/identity.ts";

/** The log's event type for notifications. */
export const NOTIFICATION_EVENT = "notification_sent";
/** Its name in a stream's type filter. */
export const NOTIFICATION = "notification";

/** The JSON for each recipient, by user id, and the right needed to read it. */
export function notificationsIn(
  { space }: Tenant,
  { details, timestamp }: EventRow,
): { readonly scope: Scope | null; readonly texts: ReadonlyMap<string, string> } {
  const { type, told, about, about_type, about_id } = details as {
    type: NoticeType;
    told: readonly { user_id: string; id: string }[];
    about: unknown;
    about_type: string;
    about_id: string;
  };
  const text = (id: string) =>
    JSON.stringify({
      id,
      type,
      space,
      resource_type: about_type,
      resource_id: about_id,
      details: about,
      created_at: timestamp,
      read_at: null,
    });
  const texts = new Map(told.map(({ user_id, id }) => [user_id, text(id)]));
  return { scope: NOTICES[type].scope, texts };
}
