import type { LimitOverrides } from "../../kv/records/fields.ts";
import type { OrganizationRecord } from "../../kv/records/organization.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { Issuer } from "../context/context.ts";
import type { Scope } from "./scopes.ts";

/** A verified access token of another issuer. */
export interface ForeignToken {
  /** Its configuration when the token was verified. */
  readonly issuer: Issuer;
  readonly subject: string;
  /** In lower case; null unless the token says that it is verified. */
  readonly email: string | null;
  /** The rights that it names; null for every right of its person. */
  readonly scopes: ReadonlySet<Scope> | null;
  readonly expiresAtMs: number;
}

/** The caller, with current rights. */
export interface Actor {
  readonly kind: "user" | "api_key" | "device" | "anonymous";
  /** The id of the user, key or device; `anonymous` without a credential. */
  readonly id: string;
  readonly tenant: Tenant;
  readonly rights: ReadonlySet<Scope>;
  /** The person behind it: the user, the key's creator, or the maker of the device's pairing code. */
  readonly userId: string;
  readonly plan: string;
  /** True for the organization that runs the installation. */
  readonly host: boolean;
  /** For a chat: other people who may write through its bot, or may have linked it. */
  readonly alsoOf?: readonly string[];
  /** The session of a JWT. */
  readonly sessionId: string | null;
  /** The token of a user who signed in with another issuer. */
  readonly foreign?: ForeignToken;
  /** The id of the consent by which an MCP client acts for its user, within the scopes of the consent. */
  readonly grantId?: string;
  /** Set on a sign-in without rights: its token names none, or its required second factor is missing. */
  readonly withoutRights?: true;
  /** When the credential expires, in ms. */
  readonly expiresAtMs: number;
  /** Requests per minute of the plan: null is unlimited, undefined means no such plan. */
  readonly planPerMinute: number | null | undefined;
  /** The host's override of the plan's limit. */
  readonly planLimits: OrganizationRecord["limits"];
  /** For an API key: the basis of its limits, and the value that was sent. */
  readonly key: {
    readonly type: "live" | "test";
    readonly limits: LimitOverrides | null;
    /** SHA-256 of the value that was sent, in hex. */
    readonly valueHash: string;
    /** When that value was replaced, in ms; null for the newest value. */
    readonly oldSinceMs: number | null;
    /** When that value stops working because of the rotation, in ms; null for the newest value. */
    readonly oldUntilMs: number | null;
  } | null;
}
