import type { Tenant } from "../../../kv/store/collection.ts";
import type { EventRow } from "../events.ts";
import { NOTICES, type NoticeType } from "../types/notices.ts";
import type { Scope } from "../../work/scopes.ts";

/** The event of the log that tells people of something, and how a filter of types names it. */
export const NOTIFICATION_EVENT = "notification_sent";
export const NOTIFICATION = "notification";

/** What each person who was told reads, by user, and the right that it takes. */
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
