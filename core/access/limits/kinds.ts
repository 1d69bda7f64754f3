import type { ApiKeyRecord } from "../../../kv/records/api_key.ts";
import type { OrganizationRecord } from "../../../kv/records/organization.ts";
import { type Config, planOf } from "../../context/context.ts";
import type { LimitHolder, LimitRaise } from "../../fault/fault.ts";
import { MINUTE_MS } from "../../../kv/store/durations.ts";

const TEN_SECONDS_MS = 10_000;
/** The limit of reports about one agent by others; reports by the agent itself have the same limit. */
export const AGENT_REPORTS_PER_MINUTE = 60;

/** The names of a key's own limits in its record, in the configuration and in an override. */
export type KeyLimit = keyof Config["limits"]["live"];

/** A kind of limit. */
export interface LimitKind {
  /** The name of the limit in counters and refusals. */
  readonly scope: string;
  /** The length of its window; null for a limit of what is open at once. */
  readonly windowMs: number | null;
  /** The counted thing, as text after the number. */
  readonly words: string;
  readonly whose: string;
  readonly of: LimitHolder["type"];
  /** Who may raise it for this holder; null for a fixed limit. */
  readonly raise: (id: string) => LimitRaise | null;
  /** An alternative to waiting, as a sentence. */
  readonly advice?: string;
}

const raisedByHost = (id: string): LimitRaise => ({
  who: "host_owner",
  how: `PUT /api/admin/limits/${id}`,
});

/** Of every limit of a key. */
const OF_KEY = { of: "api_key", raise: raisedByHost } as const;

/** The limits of a key, by the names that overrides and configuration use. */
export const KEY_LIMITS = {
  burst_per_10_seconds: {
    scope: "burst",
    windowMs: TEN_SECONDS_MS,
    ...OF_KEY,
    whose: "this API key",
    words: "requests per 10 seconds",
    advice: "Spread requests evenly.",
  },
  requests_per_minute: {
    scope: "key",
    windowMs: MINUTE_MS,
    ...OF_KEY,
    whose: "this API key",
    words: "requests per minute",
  },
  mcp_calls_per_minute: {
    scope: "mcp",
    windowMs: MINUTE_MS,
    ...OF_KEY,
    whose: "this API key",
    words: "MCP calls per minute",
  },
  max_concurrent: {
    scope: "connections",
    windowMs: null,
    ...OF_KEY,
    whose: "this API key",
    words: "open connections",
    advice: "Wait for a response or close a stream before the next request.",
  },
  webhook_deliveries_per_minute: {
    scope: "deliveries",
    windowMs: MINUTE_MS,
    ...OF_KEY,
    whose: "the webhooks of this API key",
    words: "deliveries per minute",
  },
} as const satisfies Readonly<Record<KeyLimit, LimitKind>>;

export const KEY_LIMIT_NAMES = Object.keys(KEY_LIMITS) as readonly KeyLimit[];

/** All other limits. */
export const OTHER_LIMITS = {
  organization: {
    scope: "organization",
    windowMs: MINUTE_MS,
    of: "organization",
    raise: raisedByHost,
    whose: "the organization, across all its keys and users",
    words: "requests per minute",
    advice: "A larger plan has a higher limit.",
  },
  address: {
    scope: "address",
    windowMs: MINUTE_MS,
    of: "address",
    raise: () => ({ who: "operator", how: "`limits.public_per_minute` of RELAY_CONFIG" }),
    whose: "your network address",
    words: "requests per minute",
    advice: "Requests with a valid credential have their own limits.",
  },
  agent: {
    scope: "agent",
    windowMs: MINUTE_MS,
    of: "agent",
    raise: () => null,
    whose: "this agent",
    words: "reports per minute",
  },
} as const satisfies Readonly<Record<string, LimitKind>>;

const { webhook_deliveries_per_minute: _, ...REQUEST_LIMITS } = KEY_LIMITS;
/** The scopes of the limits that refuse requests. */
export const REQUEST_SCOPES: readonly string[] = [REQUEST_LIMITS, OTHER_LIMITS].flatMap((limits) =>
  Object.values<LimitKind>(limits).map(({ scope }) => scope)
);

/**
 * The limits of each kind of call. MCP calls and deliveries do not count as REST requests. The limit
 * on open connections, which has no window, applies to REST and MCP calls as well.
 */
export const CALLS = {
  rest: { key: ["requests_per_minute", "burst_per_10_seconds"], plan: true },
  mcp: { key: ["mcp_calls_per_minute", "burst_per_10_seconds"], plan: true },
  delivery: { key: ["webhook_deliveries_per_minute"], plan: false },
} as const satisfies Readonly<
  Record<string, { readonly key: readonly KeyLimit[]; readonly plan: boolean }>
>;
export type Call = keyof typeof CALLS;

/** A limit in force and its source; `null` is unlimited. */
export interface Figure {
  readonly limit: number | null;
  readonly source: "override" | "configuration" | "plan";
}

/** A key's limits: the host's overrides, else the configuration for its type; null is unlimited. */
export const limitsOf = (
  config: Config,
  { type, limits }: Pick<ApiKeyRecord, "type" | "limits">,
) => ({ ...config.limits[type], ...limits });

/** One limit of a key, and its source. */
export function keyLimit(
  config: Config,
  name: KeyLimit,
  { type, limits }: Pick<ApiKeyRecord, "type" | "limits">,
): Figure {
  const limit = limits?.[name];
  if (limit !== undefined) return { limit, source: "override" };
  return { limit: config.limits[type][name], source: "configuration" };
}

/**
 * An organization's requests per minute: the host's override, else the configuration of its plan, else `ofPlan`
 * from the plan's record; `undefined` means that there is no such plan.
 */
export function planLimit(
  config: Config,
  { plan, limits }: Pick<OrganizationRecord, "plan" | "limits">,
  ofPlan: number | null | undefined,
): Figure {
  const limit = limits?.requests_per_minute;
  if (limit !== undefined) return { limit, source: "override" };
  if (Object.hasOwn(config.plans, plan)) {
    return { limit: config.plans[plan]!.requests_per_minute, source: "configuration" };
  }
  if (ofPlan !== undefined) return { limit: ofPlan, source: "plan" };
  return { limit: planOf(config, plan).requests_per_minute, source: "plan" };
}
