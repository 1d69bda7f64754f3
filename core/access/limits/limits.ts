import type { ApiKeyRecord } from "../../../kv/records/api_key.ts";
import type { OrganizationRecord } from "../../../kv/records/organization.ts";
import { type Config, planOf } from "../../work/config.ts";

const MINUTE_MS = 60_000;
const TEN_SECONDS_MS = 10_000;
/** Reports about one agent, by others and as many by itself: one every second is more than enough. */
export const AGENT_REPORTS_PER_MINUTE = 60;

/** What a key's own limits are called, in its record, in the configuration and in an override. */
export type KeyLimit = keyof Config["limits"]["live"];

/** One kind of limit. */
export interface LimitKind {
  /** Whose count it is, and the name that a refusal gives. */
  readonly scope: string;
  /** How long its window is; null when it binds what is open at once. */
  readonly windowMs: number | null;
  /** The limit in words, after its number. */
  readonly words: string;
  readonly whose: string;
  /** What to do but wait, as a sentence. */
  readonly advice?: string;
}

/** The limits of a key: overrides and configuration know them by these names. */
export const KEY_LIMITS = {
  burst_per_10_seconds: {
    scope: "burst",
    windowMs: TEN_SECONDS_MS,
    whose: "this API key",
    words: "requests in 10 seconds",
    advice: "Spread requests evenly.",
  },
  requests_per_minute: {
    scope: "key",
    windowMs: MINUTE_MS,
    whose: "this API key",
    words: "requests per minute",
  },
  mcp_calls_per_minute: {
    scope: "mcp",
    windowMs: MINUTE_MS,
    whose: "this API key",
    words: "MCP calls per minute",
  },
  max_concurrent: {
    scope: "connections",
    windowMs: null,
    whose: "this API key",
    words: "open connections",
    advice: "Wait for an answer, or close a stream, before the next request.",
  },
  webhook_deliveries_per_minute: {
    scope: "deliveries",
    windowMs: MINUTE_MS,
    whose: "the webhooks of this API key",
    words: "deliveries per minute",
  },
} as const satisfies Readonly<Record<KeyLimit, LimitKind>>;

export const KEY_LIMIT_NAMES = Object.keys(KEY_LIMITS) as readonly KeyLimit[];

/** The limits of everybody else. */
export const OTHER_LIMITS = {
  organization: {
    scope: "organization",
    windowMs: MINUTE_MS,
    whose: "the organization, over all its keys and users",
    words: "requests per minute",
    advice: "A larger plan has a higher limit.",
  },
  address: {
    scope: "address",
    windowMs: MINUTE_MS,
    whose: "your network address",
    words: "requests per minute",
    advice: "A valid credential has limits of its own.",
  },
  agent: {
    scope: "agent",
    windowMs: MINUTE_MS,
    whose: "this agent",
    words: "reports per minute",
  },
} as const satisfies Readonly<Record<string, LimitKind>>;

/**
 * What a call must pass, all together. An MCP call is no REST request; a delivery is neither. Open
 * connections bind both kinds of call and are not counted in a window.
 */
export const CALLS = {
  rest: { key: ["requests_per_minute", "burst_per_10_seconds"], plan: true },
  mcp: { key: ["mcp_calls_per_minute", "burst_per_10_seconds"], plan: true },
  delivery: { key: ["webhook_deliveries_per_minute"], plan: false },
} as const satisfies Readonly<
  Record<string, { readonly key: readonly KeyLimit[]; readonly plan: boolean }>
>;
export type Call = keyof typeof CALLS;

/** A limit in force and where it comes from; `null` is unlimited. */
export interface Figure {
  readonly limit: number | null;
  readonly source: "override" | "configuration" | "plan";
}

/** What limits a key: what the host set for it, else what is configured for its type; null is none. */
export const limitsOf = (
  config: Config,
  { type, limits }: Pick<ApiKeyRecord, "type" | "limits">,
) => ({ ...config.limits[type], ...limits });

/** One of them, and where it comes from. */
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
 * What an organization may do a minute: what the host set for it, else what the configuration says of its
 * plan, else what the plan itself says, `undefined` when there is no such plan.
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
