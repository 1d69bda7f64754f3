import type { Grant, LeasedCounters } from "../kv/counters.ts";
import { type Config, planOf } from "./config.ts";

/** What an unlimited limit shows: the largest number that every client can read. */
export const UNLIMITED = 2_147_483_647;
const MINUTE_MS = 60_000;

/** One limit as a response shows it. */
export interface LimitState {
  readonly admitted: boolean;
  readonly scope: "organization" | "address";
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

  /** A public endpoint, by client address. */
  takeForAddress(address: string): LimitState | Promise<LimitState> {
    return this.#take("address", `addr:${address}`, this.config().limits.public_per_minute);
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
