import type { ApiKeyRecord } from "../kv/records/api_key.ts";
import type { Grant, LeasedCounters } from "../kv/counters.ts";
import { type Config, planOf } from "./config.ts";
import { Fault } from "./fault.ts";
import { networkOf } from "./network.ts";

/** What an unlimited limit shows: the largest number that every client can read. */
export const UNLIMITED = 2_147_483_647;
const MINUTE_MS = 60_000;
/** What anybody may report of one agent: a report every second is more than enough. */
const AGENT_REPORTS_PER_MINUTE = 60;

/** One limit as a response shows it. */
export interface LimitState {
  readonly admitted: boolean;
  readonly scope: "organization" | "address" | "agent";
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** Decides whether a request may pass now. */
export class Limiter {
  constructor(
    private readonly counters: LeasedCounters,
    private readonly config: () => Config,
    private readonly now: () => number,
  ) {}

  /** The organization's plan, shared by all of its keys and users. */
  takeForPlan(org: string, plan: string): LimitState | Promise<LimitState> {
    return this.#take(
      "organization",
      `org:${org}`,
      planOf(this.config(), plan).requests_per_minute,
    );
  }

  /** A public endpoint, by the client's network. */
  takeForAddress(address: string): LimitState | Promise<LimitState> {
    const { public_per_minute } = this.config().limits;
    return this.#take("address", `addr:${networkOf(address)}`, public_per_minute);
  }

  /** What comes in about one agent without its credential, whoever sends it. */
  takeForAgent(id: string): LimitState | Promise<LimitState> {
    return this.#take("agent", `agent:${id}`, AGENT_REPORTS_PER_MINUTE);
  }

  /** A delivery of a webhook that this key created; when it is not admitted, `resetMs` is when to try again. */
  takeForDelivery(
    { id, type, limits }: Pick<ApiKeyRecord, "id" | "type" | "limits">,
  ): LimitState | Promise<LimitState> {
    const own = limits?.webhook_deliveries_per_minute;
    const { webhook_deliveries_per_minute } = this.config().limits[type];
    const limit = own === undefined ? webhook_deliveries_per_minute : own;
    return this.#take("organization", `dlv:${id}`, limit);
  }

  /** What an endpoint outside all limits shows. */
  unlimited(): LimitState {
    const resetMs = (Math.floor(this.now() / MINUTE_MS) + 1) * MINUTE_MS;
    const scope = "organization";
    return { admitted: true, scope, limit: UNLIMITED, remaining: UNLIMITED, resetMs };
  }

  #take(
    scope: LimitState["scope"],
    key: string,
    limit: number | null,
  ): LimitState | Promise<LimitState> {
    if (limit === null) return { ...this.unlimited(), scope };
    const grant = this.counters.take(key, limit, MINUTE_MS);
    const show = (grant: Grant): LimitState => ({ scope, limit, ...grant });
    return grant instanceof Promise ? grant.then(show) : show(grant);
  }
}

/** @throws {Fault} RATE_LIMIT_EXCEEDED unless a limit admits the request */
export function mustPass(state: LimitState, nowMs: number): void {
  const { admitted, limit, scope, resetMs } = state;
  if (admitted) return;
  const retry_after = Math.max(1, Math.ceil((resetMs - nowMs) / 1000));
  throw new Fault(
    "RATE_LIMIT_EXCEEDED",
    `The limit of ${limit} requests per minute is reached. Try again in ${retry_after} s.`,
    { limit, scope, reset: Math.ceil(resetMs / 1000), retry_after },
  );
}
