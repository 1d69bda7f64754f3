import ipaddr from "ipaddr.js";
import { z } from "zod";
import { Fault } from "../fault/fault.ts";
import { Auth } from "./issuer_config.ts";

const PerMinute = z.int().min(1).max(2_147_483_646).nullable();

const KeyLimits = (live: {
  requests: number;
  mcp: number;
  concurrent: number;
  burst: number;
  deliveries: number;
}) =>
  z.strictObject({
    requests_per_minute: PerMinute.default(live.requests)
      .describe("requests with one key in a minute"),
    mcp_calls_per_minute: PerMinute.default(live.mcp)
      .describe("MCP calls with one key in a minute"),
    max_concurrent: PerMinute.default(live.concurrent)
      .describe("open connections with one key"),
    burst_per_10_seconds: PerMinute.default(live.burst)
      .describe("requests and MCP calls with one key in 10 seconds"),
    webhook_deliveries_per_minute: PerMinute.default(live.deliveries)
      .describe("deliveries of the webhooks of one key in a minute"),
  }).prefault({});

const Plan = z.strictObject({
  requests_per_minute: PerMinute.describe("calls of one organization in a minute"),
});

/** An address or a range in full notation: some programs read `10` as an address, here it is a typo. */
const Proxy = z.string().refine(
  (text) =>
    ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv4.isValidCIDRFourPartDecimal(text) ||
    ipaddr.IPv6.isValid(text) || ipaddr.IPv6.isValidCIDR(text),
  "must be an IP address or a CIDR range",
);

/** An origin as browsers send it: scheme, host and port only. */
const Origin = z.url({ protocol: /^https?$/ }).transform((text) => new URL(text)).refine(
  (url) => url.href === `${url.origin}/` && !url.host.includes("*"),
  "must be an origin, such as https://console.example.com",
).transform(({ origin }) => origin);

/**
 * The schema of RELAY_CONFIG; `null` means unlimited. The defaults are the interface's figures. docs/configuration.md
 * shows each field and its description.
 */
export const Config = z.strictObject({
  plans: z.record(z.string().min(1).max(64), Plan).default({})
    .describe("plans that add to the built-in ones or replace them"),
  default_plan: z.string().default("starter").describe(
    "the plan of a new organization, except the host",
  ),
  limits: z.strictObject({
    live: KeyLimits({ requests: 100, mcp: 60, concurrent: 10, burst: 120, deliveries: 50 }),
    test: KeyLimits({ requests: 30, mcp: 20, concurrent: 3, burst: 40, deliveries: 10 }),
    public_per_minute: PerMinute.default(600)
      .describe("calls without a credential from one address in a minute"),
  }).prefault({}),
  auth: Auth,
  webhooks: z.strictObject({
    retry_delays_seconds: z.array(z.int().min(1).max(86_400)).min(1).max(12)
      .default([30, 120, 600, 1800, 3600]).describe("delays before each further attempt"),
  }).prefault({}),
  outbound: z.strictObject({
    allow_private_targets: z.boolean().default(false)
      .describe("whether the relay may connect to private addresses"),
  }).prefault({}),
  access_log: z.strictObject({
    requests: z.enum(["off", "errors", "all"]).default("off")
      .describe("which requests the log gets; `errors` are statuses of 400 and more"),
    share: z.number().min(0).max(1).default(1)
      .describe("the share of them, chosen at random; statuses of 500 and more are always logged"),
  }).prefault({}),
  retention_days: z.strictObject({
    deliveries: z.int().min(1).max(365).default(30).describe("days that deliveries are kept"),
    commands: z.int().min(1).max(3650).default(90).describe("days that commands are kept"),
    audit: z.int().min(1).max(36_500).nullable().default(null)
      .describe("days that audit rows are kept; an expired row leaves its hash"),
  }).prefault({}),
  backups: z.strictObject({
    folder: z.string().min(1).max(1024).nullable().default(null)
      .describe("folder of the scheduled backups of an embedded store; null schedules none"),
    every_hours: z.int().min(1).max(8760).default(24).describe("hours between two backups"),
    keep_days: z.int().min(1).max(3650).default(7).describe(
      "days that backups in the folder are kept",
    ),
  }).prefault({}),
  legal_hold: z.array(z.string().min(1).max(64)).max(10_000).default([])
    .describe("organizations whose audit rows never expire; `*` means all"),
  trusted_proxies: z.array(Proxy).max(64).default([])
    .describe("addresses and ranges whose `X-Forwarded-For` is trusted"),
  allowed_origins: z.array(Origin).max(64).prefault([])
    .describe("sites whose pages may call the relay (CORS, WebSocket, MCP)"),
}).refine((config) => planNamed(config, config.default_plan) !== undefined, {
  path: ["default_plan"],
  message: "does not name a plan",
});
export type Config = z.infer<typeof Config>;
type Plan = z.infer<typeof Plan>;
/** Which requests are logged. */
export type AccessRule = Config["access_log"];

/** The names at the top of the configuration. */
export const CONFIG_FIELDS: readonly string[] = Object.keys(Config.shape);

/** The plans of the interface; the configuration may change them and add others. */
export const BUILT_IN_PLANS: Readonly<Record<string, Plan>> = {
  starter: { requests_per_minute: 100 },
  team: { requests_per_minute: 500 },
  business: { requests_per_minute: 2000 },
  enterprise: { requests_per_minute: null },
};

/** A plan by name; the default plan for a name that no longer exists. */
export function planOf(config: Config, name: string): Plan {
  return planNamed(config, name) ?? planNamed(config, config.default_plan)!;
}

function planNamed({ plans }: { plans: Record<string, Plan> }, name: string): Plan | undefined {
  const from = [plans, BUILT_IN_PLANS].find((some) => Object.hasOwn(some, name));
  return from?.[name];
}

/**
 * Reads configuration text.
 * @throws {Fault} VALIDATION_FAILED with the path of each error
 */
export function parseConfig(text: string): Config {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const message = `The configuration in RELAY_CONFIG is not JSON: ${(cause as Error).message}`;
    const issues = [{ path: "", message }];
    throw new Fault("VALIDATION_FAILED", message, { issues }, { cause });
  }
  const result = Config.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => ({
    path: path.join("."),
    message,
  }));
  const said = issues.map(({ path, message }) => `${path || "(whole)"}: ${message}`).join("; ");
  throw new Fault("VALIDATION_FAILED", `The configuration in RELAY_CONFIG is invalid: ${said}`, {
    issues,
  });
}

/** The source of the configuration, so that it can be read again. */
export interface ConfigSource {
  readonly kind: "none" | "environment" | "file";
  /** The path of the file; null for the other kinds. */
  readonly path: string | null;
  /** Its current text; throws if it cannot be read. */
  readonly read: () => string;
}
