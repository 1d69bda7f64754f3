import { z } from "zod";
import { collection } from "../store/collection.ts";
import { AlsoOf, madeWith, Sealed, StoredCreatedWith } from "./fields.ts";

/**
 * A person, in the organization's live space. The email finds them store-wide. A person is deactivated and never
 * deleted: the count of an organization's people shows whether anybody ever joined its founder.
 */
export const UserRecord = z.strictObject({
  id: z.string(),
  email: z.string(),
  /** PHC string of the password hash. */
  password: z.string(),
  /** Who else may know the password. */
  also_of: AlsoOf,
  roles: z.array(z.string()),
  active: z.boolean(),
  /** Ends sessions of earlier epochs. It changes with the password and when the user is deactivated. */
  session_epoch: z.number(),
  /** A BCP 47 language tag. */
  language: z.string(),
  /** An IANA time zone. */
  timezone: z.string(),
  created_at_ms: z.number(),
  /** The credential that made their invitation. */
  created_with: StoredCreatedWith,
});
export type UserRecord = z.infer<typeof UserRecord>;

export const users = collection({
  name: "users",
  schema: UserRecord,
  announced: "changes",
  lookup: { email: (user) => [user.email] },
  index: {
    owner: ({ active, roles }) => active && roles.includes("owner") ? ["owner"] : null,
    made_with: ({ active, created_with }) => active ? madeWith(created_with) : null,
  },
  counted: true,
  cached: 20_000,
  checkedPerTenant: true, // a decision may depend on ten people
});

/** A session. Its JWTs and refresh tokens work only while it exists. */
export const SessionRecord = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  /** The user's epoch at its start or last refresh. */
  epoch: z.number(),
  /** The client that began it. */
  address: z.string(),
  /** True when a second factor was used at its start or later. */
  second_factor: z.boolean(),
  /** True when an approved code began it, and no password. */
  by_code: z.literal(true).optional(),
  /** The issuer where the person signed in, if it was not here. */
  issuer: z.string().optional(),
  created_at_ms: z.number(),
  /** Each refresh extends it. */
  expires_at_ms: z.number(),
  /** The key that derives its refresh tokens; null in sessions of earlier versions, which have none. */
  sealed_refresh_secret: Sealed.nullable().default(null),
  /** The number of the newest refresh token. */
  refresh_count: z.int().default(0),
  /** When the latest refreshes happened, oldest first; bounded. */
  refreshed_at_ms: z.array(z.number()).default([]),
});
export type SessionRecord = z.infer<typeof SessionRecord>;

export const sessions = collection({
  name: "sessions",
  schema: SessionRecord,
  announced: "deletions",
  index: { user: (session) => [session.user_id] },
  expiresAt: (session) => session.expires_at_ms,
  cached: 20_000,
});

/**
 * The consent of a person to an MCP client, in the organization's live space. The code that leads to it, its access
 * tokens and its refresh tokens are derived, so none is stored; they work only while it exists.
 */
const McpGrantRecord = z.strictObject({
  id: z.string(),
  user_id: z.string(),
  /** Of the session that approved it, which decide as in a session whether it still counts. */
  epoch: z.number(),
  second_factor: z.boolean(),
  issuer: z.string().optional(),
  client_id: z.string(),
  /** The name that the client gave itself. */
  client_name: z.string(),
  redirect_uri: z.string(),
  /** The path of the MCP address that its tokens are for. */
  resource: z.string(),
  scopes: z.array(z.string()),
  space: z.enum(["live", "test"]),
  /** The browser that approved it. */
  address: z.string(),
  created_at_ms: z.number(),
  /** Each refresh extends it. */
  expires_at_ms: z.number(),
  /** The challenge of PKCE; null once the code was exchanged. */
  challenge: z.string().nullable(),
  /** The key that derives its code and tokens. */
  sealed_refresh_secret: Sealed,
  /** The number of the newest refresh token. */
  refresh_count: z.int(),
  /** When the latest refreshes happened, oldest first; bounded. */
  refreshed_at_ms: z.array(z.number()),
});
export type McpGrantRecord = z.infer<typeof McpGrantRecord>;

export const mcpGrants = collection({
  name: "mcp_grants",
  schema: McpGrantRecord,
  announced: "deletions",
  index: { user: (grant) => [grant.user_id] },
  expiresAt: (grant) => grant.expires_at_ms,
  cached: 20_000,
});

/** A link that resets a person's password, by the person's id: a new link replaces the one before. */
const PasswordResetRecord = z.strictObject({
  id: z.string(),
  /** SHA-256 of the token, hex. */
  hash: z.string(),
  /** The user's epoch at its creation. A link works only in this epoch. */
  epoch: z.number(),
  /** Who created it, and must still be allowed to when it is used. */
  created_by: z.string(),
  created_with: StoredCreatedWith,
  /** Who may have seen it. */
  seen_by: AlsoOf,
  expires_at_ms: z.number(),
});
export type PasswordResetRecord = z.infer<typeof PasswordResetRecord>;

export const passwordResets = collection({
  name: "password_resets",
  schema: PasswordResetRecord,
  lookup: { token: (reset) => [reset.hash] },
  expiresAt: (reset) => reset.expires_at_ms,
});

/** A sign-in at an issuer that has begun a session, by the hash of its state: a state works once. */
export const usedIssuerStates = collection({
  name: "used_issuer_states",
  schema: z.strictObject({ id: z.string(), expires_at_ms: z.number() }),
  expiresAt: ({ expires_at_ms }) => expires_at_ms,
});

/** Ended requests are kept this long, so that errors can say why they fail. */
const DEVICE_LOGINS_KEPT_MS = 10 * 60 * 1000;

/** A terminal's request to be signed in by a person who is signed in elsewhere. It belongs to no organization yet. */
const DeviceLoginRecord = z.strictObject({
  id: z.string(),
  /** SHA-256 of the device code, hex. */
  device_hash: z.string(),
  /** A MAC of the user code, hex: its 40 bits could be guessed from a hash. */
  code_mac: z.string(),
  device_name: z.string(),
  /** Where the request came from, and the network that it counts for. */
  address: z.string(),
  network: z.string(),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  /** The least time between two polls. It grows when the terminal polls too often. */
  interval_seconds: z.int(),
  polled_at_ms: z.number().nullable(),
  state: z.enum(["pending", "approved", "denied", "used"]),
  /** Who approved it, and the session that they used, with its epoch and second factor. */
  approved_by: z.strictObject({
    org: z.string(),
    user_id: z.string(),
    session_id: z.string(),
    epoch: z.number(),
    second_factor: z.boolean(),
    issuer: z.string().optional(),
  }).nullable(),
});
export type DeviceLoginRecord = z.infer<typeof DeviceLoginRecord>;

export const deviceLogins = collection({
  name: "device_logins",
  schema: DeviceLoginRecord,
  lookup: { device: (login) => [login.device_hash], code: (login) => [login.code_mac] },
  index: { network: (login) => login.state === "pending" ? [login.network] : null },
  expiresAt: (login) => login.expires_at_ms + DEVICE_LOGINS_KEPT_MS,
});
