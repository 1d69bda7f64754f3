import program from "../../deno.json" with { type: "json" };
import type { Appending } from "../../kv/log/appends.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { EventLog } from "../../kv/log/log.ts";
import type { LimitOverrides } from "../../kv/records/limits.ts";
import type { OrganizationRecord } from "../../kv/records/organization.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Activity } from "../host/activity.ts";
import type { ActiveConfiguration } from "../host/configuration/active.ts";
import type { Sequencer } from "../events/trail/sequencer.ts";
import type { Commands } from "../commands/registry.ts";
import type { Rounds } from "../ports/rounds.ts";
import type { Config } from "./config.ts";
import type { PolicyBook } from "../policies/book.ts";
import type { Syncs } from "../policies/syncs.ts";
import type { Issuer } from "./issuer_config.ts";
import type { Integrations } from "../integrations/runner.ts";
import type { Transfers } from "../policies/backups/transfers.ts";
import type { Limiter } from "../access/limits/limiter.ts";
import type { Links } from "../agents/links.ts";
import type { Metrics } from "../host/metrics.ts";
import type { Ports } from "../ports/ports.ts";
import type { Scope } from "./scopes.ts";
import type { Background } from "./background.ts";
import type { Signals } from "./signals.ts";
import type { Sealer } from "../codec/seal.ts";
import type { Settings } from "./settings.ts";
import type { Sessions } from "../commands/guard/sessions.ts";
import type { Streams } from "../events/streams/streams.ts";
import type { SigningKeys } from "../access/tokens/signing_keys.ts";
import type { FailureThrottle } from "../access/limits/throttle.ts";
import type { Usage } from "../access/usage/usage.ts";
import type { Deliveries } from "../webhooks/deliveries.ts";

/** This program's version, as deno.json says. */
export const VERSION: string = program.version;

/** What every rule may use. Everything else is handed to the functions that need it. */
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

/** A running Relay: the parts that every rule may use. */
export interface App extends Context {
  readonly background: Background;
  /** Makes the log provable. */
  readonly audit: Sequencer;
  readonly settings: Settings;
  readonly configuration: ActiveConfiguration;
  readonly signingKeys: SigningKeys;
  readonly limiter: Limiter;
  /** Tries to sign in, and to show a password or a code of one's own. */
  readonly logins: FailureThrottle;
  /** Tries to pair a device. */
  readonly pairings: FailureThrottle;
  readonly usage: Usage;
  /** What happens in each organization, for statistics. */
  readonly activity: Activity;
  readonly links: Links;
  readonly commands: Commands;
  /** What each session's commands left behind, for the shield's behaviour layer. */
  readonly sessions: Sessions;
  readonly deliveries: Deliveries;
  /** The documents of the policies in force. */
  readonly policyBook: PolicyBook;
  /** Repositories that are being looked at. */
  readonly syncs: Syncs;
  /** Makes compliance reports. */
  readonly reports: Rounds;
  readonly integrations: Integrations;
  /** Backups and restores that are under way. */
  readonly transfers: Transfers;
  readonly metrics: Metrics;
  readonly streams: Streams;
  /** Names this history of the logs, in the ids of streamed events. */
  readonly epoch: string;
  /** This process, among all that share the store. */
  readonly instance: string;
  readonly startedAtMs: number;
}

/** What an access token of another issuer says. */
export interface ForeignToken {
  /** As configured when it was checked. */
  readonly issuer: Issuer;
  readonly subject: string;
  /** Lower case, and seen to be its owner's; null when the token says less. */
  readonly email: string | null;
  /** Rights that it is for; null for all that its person has. */
  readonly scopes: ReadonlySet<Scope> | null;
  readonly expiresAtMs: number;
}

/** Who is asking, with the rights they have now. */
export interface Actor {
  readonly kind: "user" | "api_key" | "device" | "anonymous";
  /** The user's, key's or device's id; `anonymous` for nobody. */
  readonly id: string;
  readonly tenant: Tenant;
  readonly rights: ReadonlySet<Scope>;
  /** The person behind it: the user, the key's creator, or who made the device's pairing code. */
  readonly userId: string;
  readonly plan: string;
  /** True for the organization that runs the installation. */
  readonly host: boolean;
  /** Of a chat: who else may speak through its bot, or may have linked it. */
  readonly alsoOf?: readonly string[];
  /** The session of a JWT. */
  readonly sessionId: string | null;
  /** Of a user who shows another issuer's token: that. */
  readonly foreign?: ForeignToken;
  /** There when a sign-in may do nothing, whatever its person may: its token or second factor is wanting. */
  readonly bare?: true;
  /** When the credential ends by itself, in ms. */
  readonly expiresAtMs: number;
  /** What the plan says of requests per minute: null is unlimited, undefined when there is no such plan. */
  readonly planPerMinute: number | null | undefined;
  /** What the host set for the organization instead of its plan's limit. */
  readonly planLimits: OrganizationRecord["limits"];
  /** Of an API key: what its limits depend on, and which of its values is in hand. */
  readonly key: {
    readonly type: "live" | "test";
    readonly limits: LimitOverrides | null;
    /** SHA-256 of the value in hand, hex. */
    readonly valueHash: string;
    /** When the value in hand was replaced by a newer one; null for the newest one. */
    readonly oldSinceMs: number | null;
    /** When the value in hand stops working, because the key was rotated; null for the newest one. */
    readonly oldUntilMs: number | null;
  } | null;
}

/** The headers by which Git hosts name and sign what they send; null where there is none. */
export interface GitHookHeaders {
  readonly event: string | null;
  readonly delivery: string | null;
  /** GitHub's and Gitea's `sha256=…`. */
  readonly hubSignature: string | null;
  readonly giteaSignature: string | null;
  readonly gitlabToken: string | null;
  /** Those of Standard Webhooks. */
  readonly webhookId: string | null;
  readonly webhookTimestamp: string | null;
  readonly webhookSignature: string | null;
}

/** What is known of a request besides its input. */
export interface RequestInfo {
  readonly id: string;
  /** The client's address, as far as the trusted proxies tell. */
  readonly address: string;
  readonly idempotencyKey: string | null;
  /** Where a stream of events left off, as its client says. */
  readonly lastEventId: string | null;
  /** What a sender from outside shows instead of a credential: an ingest token, in a header. */
  readonly ingestToken: string | null;
  /** What Telegram shows. */
  readonly telegramSecret: string | null;
  /** What a Git host shows beside a push. */
  readonly gitHook: GitHookHeaders;
  /** What the caller's browser keeps under a name. */
  cookie(name: string): string | null;
  /** True for a request that a proxy has passed on, as its headers show. */
  readonly forwarded: boolean;
  /** True when a browser fetches ahead of a click, which must never run anything. */
  readonly prefetch: boolean;
}

interface Base extends Context {
  readonly app: App;
  readonly actor: Actor;
  readonly request: RequestInfo;
}

/** What a rule that reads may use. */
export interface Reading extends Base {
  readonly db: Reader;
}

/** What a rule that changes may use: one transaction, rerun when it loses a race. */
export interface Writing extends Base {
  readonly db: Tx;
  readonly tx: Tx;
}

/** What a rule of several commits may use. */
export interface Stepping extends Base {
  readonly db: Reader;
  /** Puts the record of this use of an API key into the rule's last commit, instead of one of its own. */
  recordUse(tx: Appending, status: number): void;
}

/** Any of them, for rules that only read. */
export type Work = Reading | Writing | Stepping;
