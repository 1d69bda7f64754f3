import { createHmac } from "node:crypto";
import type { SessionRecord } from "../../../kv/records/user.ts";
import type { Context } from "../../context/context.ts";
import { makeSecretText } from "../keys/value.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { base62Length, constantTimeEqual, encodeBase62, type Sealer } from "../../codec/codec.ts";

/** A session ends after this long without a refresh. */
export const SESSION_IDLE_MS = 30 * DAY_MS;
/** A session ends after this long in any case. */
export const SESSION_MAX_MS = 90 * DAY_MS;
const SECRET_BYTES = 32;
const MAC_LENGTH = base62Length(32);

/** `rrt_<organization>.<session>.<number>.<HMAC-SHA256 in base62>` */
const FORMAT = new RegExp(
  `^rrt_([A-Za-z0-9_]{1,64})\\.([A-Za-z0-9_]{1,64})\\.([1-9]\\d{0,8})\\.([0-9A-Za-z]{${MAC_LENGTH}})$`,
);

const COOKIE_FORMAT = new RegExp(
  `^rsc_([A-Za-z0-9_]{1,64})\\.([A-Za-z0-9_]{1,64})\\.[0-9A-Za-z]{${MAC_LENGTH}}$`,
);

/** The parts of a refresh token; `isGenuine` verifies them. */
export interface NamedToken {
  readonly text: string;
  readonly org: string;
  readonly sessionId: string;
  readonly count: number;
}

/** When a session ends, in ms. */
export const sessionEndsAtMs = (begunMs: number, refreshedMs: number): number =>
  Math.min(refreshedMs + SESSION_IDLE_MS, begunMs + SESSION_MAX_MS);

/** A new secret for a session's refresh tokens, sealed for its record. */
export const makeRefreshSecret = (
  { sealer, ports }: Pick<Context, "sealer" | "ports">,
  sessionId: string,
): string => sealer.seal(makeSecretText("", SECRET_BYTES, ports.entropy), sessionId);

/** The refresh token with this number. It is derived, so no token is stored. */
export const refreshToken = (
  sealer: Sealer,
  org: string,
  session: SessionRecord,
  count: number,
): string => signed(sealer, session, `rrt_${org}.${session.id}.${count}`);

/** The value of a session's cookie. It is derived too, and stays the same while the session lasts. */
export const cookieValue = (sealer: Sealer, org: string, session: SessionRecord): string =>
  signed(sealer, session, `rsc_${org}.${session.id}`);

/** A record with a key from which credentials are derived. */
type Keyed = Pick<SessionRecord, "id" | "sealed_refresh_secret">;

/** A text with its MAC by the record's key. */
function signed(
  sealer: Sealer,
  { id, sealed_refresh_secret: sealed }: Keyed,
  body: string,
): string {
  if (sealed === null) throw new TypeError("a session of an earlier version has no refresh token");
  const mac = createHmac("sha256", sealer.open(sealed, id)).update(body).digest();
  return `${body}.${encodeBase62(mac)}`;
}

/** The parts of a refresh token; null for any other text. */
export function parseRefreshToken(text: string): NamedToken | null {
  const [, org, sessionId, count] = FORMAT.exec(text) ?? [];
  if (org === undefined || sessionId === undefined) return null;
  return { text, org, sessionId, count: Number(count) };
}

/** The credentials of an MCP client, by their prefix. */
const GRANT_CREDENTIALS = { rac: "code", rat: "access", rar: "refresh" } as const;
type GrantPrefix = keyof typeof GRANT_CREDENTIALS;

/** How the access token of an MCP client begins. */
export const ACCESS_TOKEN_PREFIX = "rat_";

/** `rat_<organization>.<grant>.<number>.<HMAC-SHA256 in base62>` */
const GRANT_FORMAT = new RegExp(
  `^(rac|rat|rar)_([A-Za-z0-9_]{1,64})\\.([A-Za-z0-9_]{1,64})\\.([1-9]\\d{0,14})\\.[0-9A-Za-z]{${MAC_LENGTH}}$`,
);

/** The parts of an MCP client's credential; `isDerived` verifies them. */
export interface GrantCredential {
  readonly text: string;
  readonly kind: (typeof GRANT_CREDENTIALS)[GrantPrefix];
  readonly org: string;
  readonly grantId: string;
  /** When a code or an access token expires, in ms; the number of a refresh token. */
  readonly number: number;
}

/** A credential of an MCP client. It is derived from its grant, so none is stored. */
export const grantCredential = (
  sealer: Sealer,
  prefix: GrantPrefix,
  org: string,
  grant: Keyed,
  number: number,
): string => signed(sealer, grant, `${prefix}_${org}.${grant.id}.${number}`);

/** The parts of an MCP client's credential; null for any other text. */
export function parseGrantCredential(text: string): GrantCredential | null {
  const [, prefix, org, grantId, number] = GRANT_FORMAT.exec(text) ?? [];
  if (org === undefined || grantId === undefined) return null;
  const kind = GRANT_CREDENTIALS[prefix as GrantPrefix];
  return { text, kind, org, grantId, number: Number(number) };
}

/** True for a text that was derived with the key of this record. */
export const isDerived = (sealer: Sealer, record: Keyed, text: string): boolean =>
  constantTimeEqual(signed(sealer, record, text.slice(0, text.lastIndexOf("."))), text);

/** True for a token that this session has issued. */
export function isGenuine(sealer: Sealer, session: SessionRecord, token: NamedToken): boolean {
  if (session.sealed_refresh_secret === null || token.count > session.refresh_count) return false;
  return constantTimeEqual(refreshToken(sealer, token.org, session, token.count), token.text);
}

/** The organization and the session that a cookie's value names; null for any other text. */
export function parseCookieValue(text: string): Pick<NamedToken, "org" | "sessionId"> | null {
  const [, org, sessionId] = COOKIE_FORMAT.exec(text) ?? [];
  return org === undefined || sessionId === undefined ? null : { org, sessionId };
}
