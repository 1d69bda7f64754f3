import { z } from "zod";
import { collection } from "../store/collection.ts";
import { AlsoOf, madeWith, Sealed, StoredCreatedWith } from "./fields.ts";

/** A person. Lives in its organization's live space; the email finds it store-wide. */
export const UserRecord = z.strictObject({
  id: z.string(),
  email: z.string(),
  /** PHC string of the password hash. */
  password: z.string(),
  /** Who beside the person may know the password. */
  also_of: AlsoOf,
  roles: z.array(z.string()),
  active: z.boolean(),
  /** Sessions of an earlier epoch have ended: it changes with the password, and when the user is switched off. */
  session_epoch: z.number(),
  /** BCP 47. */
  language: z.string(),
  /** IANA. */
  timezone: z.string(),
  created_at_ms: z.number(),
  /** The credential that made the invitation by which they joined. */
  created_with: StoredCreatedWith,
});
export type UserRecord = z.infer<typeof UserRecord>;

export const users = collection({
  name: "users",
  schema: UserRecord,
  lookup: { email: (user) => [user.email] },
  index: {
    owner: ({ active, roles }) => active && roles.includes("owner") ? ["owner"] : null,
    made_with: ({ active, created_with }) => active ? madeWith(created_with) : null,
  },
  counted: true,
  cached: 20_000,
  checkedPerTenant: true, // a decision of ten people depends on all of them
});

/** A sign-in. Its JWTs and its refresh tokens work only while it stands. */
export const SessionRecord = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  /** The user's, when it began or went on. */
  epoch: z.number(),
  /** Where it was begun from. */
  address: z.string(),
  /** Whether it was begun, or went on, with a second factor. */
  second_factor: z.boolean(),
  created_at_ms: z.number(),
  /** Each refresh moves it on. */
  expires_at_ms: z.number(),
  /** The key that its refresh tokens are derived from; null in sessions of earlier versions, which have none. */
  sealed_refresh_secret: Sealed.nullable().default(null),
  /** The number of the newest refresh token. */
  refresh_count: z.int().default(0),
  /** When the newest tokens were issued for the ones before them, oldest first; bounded. */
  refreshed_at_ms: z.array(z.number()).default([]),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

export const sessions = collection({
  name: "sessions",
  schema: SessionRecord,
  index: { user: (session) => [session.user_id] },
  expiresAt: (session) => session.expires_at_ms,
  cached: 20_000,
});
