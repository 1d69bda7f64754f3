import program from "../../deno.json" with { type: "json" };
import type { Appending } from "../../kv/log/appends.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { EventLog } from "../../kv/log/log.ts";
import type { LimitOverrides } from "../../kv/records/fields.ts";
import type { OrganizationRecord } from "../../kv/records/organization.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Config } from "./config.ts";
import type { Issuer } from "./issuer_config.ts";
import type { Ports } from "../ports/ports.ts";
import type { Scope } from "./scopes.ts";
import type { Signals } from "./signals.ts";
import type { Sealer } from "../codec/seal.ts";

/** This program's version, as deno.json says. */
export const VERSION: string = program.version;

/** The parts that every rule may use. Other parts are handed to the functions that need them. */
export interface Context {
  readonly store: Store;
  readonly log: EventLog;
  readonly ports: Ports;
  /** The configuration in force; a reload replaces it whole. */
  readonly config: () => Config;
  readonly sealer: Sealer;
  /** What areas tell each other after a commit. */
  readonly signals: Signals;
}

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

/** The caller, with the rights of now. */
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

/** The headers that name and sign the webhooks of Git hosts; null for a missing one. */
export interface GitHookHeaders {
  readonly event: string | null;
  readonly delivery: string | null;
  /** `sha256=…` of GitHub and Gitea. */
  readonly hubSignature: string | null;
  readonly giteaSignature: string | null;
  readonly gitlabToken: string | null;
  /** Of Standard Webhooks. */
  readonly webhookId: string | null;
  readonly webhookTimestamp: string | null;
  readonly webhookSignature: string | null;
}

/** A request without its input. */
export interface RequestInfo {
  readonly id: string;
  /** The client's address, according to the trusted proxies. */
  readonly address: string;
  readonly idempotencyKey: string | null;
  /** The Last-Event-ID of a client that resumes a stream. */
  readonly lastEventId: string | null;
  /** The ingest token in a header, which outside senders use instead of a credential. */
  readonly ingestToken: string | null;
  /** The secret header of Telegram. */
  readonly telegramSecret: string | null;
  /** The webhook headers of a Git host. */
  readonly gitHook: GitHookHeaders;
  /** The value of a cookie; null without one. */
  cookie(name: string): string | null;
  /** True for a request with the headers of a proxy. */
  readonly forwarded: boolean;
  /** True for a browser prefetch, which must never run anything. */
  readonly prefetch: boolean;
}

interface Base extends Context {
  readonly actor: Actor;
  readonly request: RequestInfo;
}

/** The context of a rule that reads. */
export interface Reading extends Base {
  readonly db: Reader;
}

/** The context of a rule that writes in one transaction, which reruns after a conflict. */
export interface Writing extends Base {
  readonly db: Tx;
  readonly tx: Tx;
}

/** The context of a rule with several commits. */
export interface Stepping extends Base {
  readonly db: Reader;
  /** Records this use of an API key in the rule's last commit instead of a separate one. */
  recordUse(tx: Appending, status: number): void;
}

/** Any context, for rules that only read. */
export type Work = Reading | Writing | Stepping;
