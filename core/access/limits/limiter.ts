import type { Tenant } from "../../../kv/store/collection.ts";
import type { Claim, Claims, Grant, LeasedCounters } from "../../../kv/limits/counters.ts";
import type { ApiKeyRecord } from "../../../kv/records/api_key.ts";
import type { OrganizationRecord } from "../../../kv/records/organization.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import type { LeasedSlots } from "../../../kv/limits/slots.ts";
import type { Actor } from "../../identity/identity.ts";
import type { Config } from "../../context/context.ts";
import { type Fault, limitReached } from "../../fault/fault.ts";
import {
  AGENT_REPORTS_PER_MINUTE,
  type Call,
  CALLS,
  KEY_LIMITS,
  type KeyLimit,
  keyLimit,
  type LimitKind,
  OTHER_LIMITS,
  planLimit,
} from "./kinds.ts";
import { networkOf } from "./network.ts";
import { MINUTE_MS } from "../../../kv/store/durations.ts";

/** Shown for no limit: the largest number that every client can read. */
export const UNLIMITED = 2_147_483_647;
/** Retry soon: a connection may end at any moment. */
const CONNECTION_RETRY_MS = 1_000;
const ACTORS_MAX = 20_000;
/** Organizations whose refusals are remembered between two rounds of housekeeping. */
const REFUSED_MAX = 1_000;

/** One limit that a request must pass. */
interface LimitClaim extends Claim {
  readonly kind: LimitKind;
  /** The holder of the limit. */
  readonly id: string;
}

/** Whether a request is admitted, and the limit that its response shows. */
export type LimitState = Grant<LimitClaim>;

const NO_LIMIT: LimitClaim = {
  key: "",
  id: "",
  limit: UNLIMITED,
  windowMs: MINUTE_MS,
  kind: OTHER_LIMITS.organization,
};

/** The state that a response without limits shows. */
export function unlimitedAt(nowMs: number): LimitState {
  const resetMs = (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS;
  return { admitted: true, claim: NO_LIMIT, remaining: UNLIMITED, resetMs };
}

type Key = Pick<ApiKeyRecord, "id" | "type" | "limits">;
/** An organization's limits; `ofPlan` is the requests per minute of its plan's record. */
type Organization = Pick<OrganizationRecord, "id" | "plan" | "limits"> & {
  readonly ofPlan: number | null | undefined;
};

/** The limits of an actor, computed once and valid while the actor and the configuration are the same. */
interface Bounds {
  readonly actor: Actor;
  readonly config: Config;
  readonly rest: Claims<LimitClaim> | null;
  readonly mcp: Claims<LimitClaim> | null;
  readonly connections: number;
}

/**
 * Admits requests within their limits. Counters are leased from the store, so that all instances together
 * never exceed a limit; the refusals kept in memory are only a hint for notifications.
 */
export class Limiter {
  readonly #bounds = new RecentMap<Bounds>(ACTORS_MAX);
  readonly #refusedByPlan = new Map<string, { readonly tenant: Tenant; readonly limit: number }>();

  constructor(
    private readonly parts: {
      readonly counters: LeasedCounters;
      /** Separate, so that a flood from many addresses does not push other counters out of memory. */
      readonly addresses: LeasedCounters;
      readonly connections: LeasedSlots;
      readonly config: () => Config;
      readonly now: () => number;
    },
  ) {}

  /**
   * Takes one from every limit of this call, and a connection, or nothing at all. An admitted caller releases
   * the connection once, with `leave`.
   */
  admit(actor: Actor, call: "rest" | "mcp"): LimitState | Promise<LimitState> {
    const state = this.#admit(actor, call);
    return state instanceof Promise
      ? state.then((state) => this.#remember(actor, state))
      : this.#remember(actor, state);
  }

  /**
   * Takes one from every limit of a REST request for each of so many further commands of one request, until a limit
   * refuses. Returns how many were admitted, and the refusal; null for none.
   */
  async takeForCommands(
    actor: Actor,
    count: number,
  ): Promise<{ readonly admitted: number; readonly refusal: LimitState | null }> {
    const claims = this.#boundsOf(actor).rest;
    if (claims === null) return { admitted: count, refusal: null };
    for (let admitted = 0; admitted < count; admitted++) {
      const state = this.#remember(actor, await this.#take(claims));
      if (!state.admitted) return { admitted, refusal: state };
    }
    return { admitted: count, refusal: null };
  }

  /** The organizations whose plan refused a request since the last call. */
  takeRefusedByPlan(): { readonly tenant: Tenant; readonly limit: number }[] {
    const refused = [...this.#refusedByPlan.values()];
    this.#refusedByPlan.clear();
    return refused;
  }

  /** A refusal writes nothing to the store; housekeeping reads it from memory. */
  #remember({ tenant }: Actor, state: LimitState): LimitState {
    const byPlan = !state.admitted && state.claim.kind === OTHER_LIMITS.organization;
    if (byPlan && this.#refusedByPlan.size < REFUSED_MAX) {
      this.#refusedByPlan.set(tenant.org, { tenant, limit: state.claim.limit });
    }
    return state;
  }

  #admit(actor: Actor, call: "rest" | "mcp"): LimitState | Promise<LimitState> {
    const bounds = this.#boundsOf(actor);
    const claims = bounds[call];
    if (actor.key === null) return this.#take(claims);
    const entered = this.parts.connections.enter(actor.id, bounds.connections);
    if (entered === "full") return this.#full(bounds);
    if (entered === "unknown") return this.#admitSlowly(bounds, claims);
    const state = this.#take(claims);
    if (state instanceof Promise) return this.#orLeave(actor, state);
    if (!state.admitted) this.leave(actor);
    return state;
  }

  /** Releases the connection that an API key was admitted with. */
  leave(actor: Actor): void {
    if (actor.key !== null) this.parts.connections.leave(actor.id);
  }

  /** Forgets the limits of keys that were not used since the last call. */
  forgetUnused(): void {
    this.#bounds.age();
  }

  /** Returns the leased connections before this instance stops. */
  close(): Promise<void> {
    return this.parts.connections.close();
  }

  /** One delivery of a webhook that this key created; a refused one can be retried at `resetMs`. */
  takeForDelivery(key: Key): LimitState | Promise<LimitState> {
    return this.#take(this.#claims("delivery", key, null));
  }

  /** A request by the client's network. A large body counts as several. */
  takeForAddress(address: string, requests = 1): LimitState | Promise<LimitState> {
    const limit = this.parts.config().limits.public_per_minute;
    if (limit === null) return this.unlimited();
    const claim = claimOf(OTHER_LIMITS.address, networkOf(address), limit);
    return this.parts.addresses.takeAll([requests === 1 ? claim : { ...claim, amount: requests }]);
  }

  /** A report about one agent. Reports by others and by the agent itself are counted apart. */
  takeForAgent(id: string, by: "itself" | "anybody"): LimitState | Promise<LimitState> {
    const claim = claimOf(OTHER_LIMITS.agent, id, AGENT_REPORTS_PER_MINUTE);
    return this.parts.counters.takeAll([
      by === "itself" ? { ...claim, key: `${claim.key}:own` } : claim,
    ]);
  }

  /** The state that an endpoint without limits shows. */
  unlimited(): LimitState {
    return unlimitedAt(this.parts.now());
  }

  /** A lower bound of what is left of a key's own limit, and when its window ends. */
  async leftOfKey(name: KeyLimit, key: Key): Promise<Left> {
    const { limit } = keyLimit(this.parts.config(), name, key);
    const kind: LimitKind = KEY_LIMITS[name];
    if (kind.windowMs !== null) return await this.#left(kind, key.id, limit);
    const open = limit === null ? 0 : await this.parts.connections.taken(key.id);
    return { remaining: limit === null ? null : Math.max(0, limit - open), resetMs: null };
  }

  /** The same for an organization's plan. */
  async leftOfPlan(organization: Organization): Promise<Left> {
    const { limit } = planLimit(this.parts.config(), organization, organization.ofPlan);
    return await this.#left(OTHER_LIMITS.organization, organization.id, limit);
  }

  async #left(kind: LimitKind, id: string, limit: number | null): Promise<Left> {
    if (limit === null) return { remaining: null, resetMs: null };
    return await this.parts.counters.left(claimOf(kind, id, limit));
  }

  #take(claims: Claims<LimitClaim> | null): LimitState | Promise<LimitState> {
    return claims === null ? this.unlimited() : this.parts.counters.takeAll(claims);
  }

  /** Asks the store for a connection only if the counters do not refuse anyway. */
  async #admitSlowly(
    { actor, connections, ...bounds }: Bounds,
    claims: Claims<LimitClaim> | null,
  ): Promise<LimitState> {
    const refusal = claims && this.parts.counters.refusal(claims);
    if (refusal !== null) return refusal;
    const entered = await this.parts.connections.enterSlowly(actor.id, connections);
    if (!entered) return this.#full({ actor, connections, ...bounds });
    return await this.#orLeave(actor, this.#take(claims));
  }

  async #orLeave(actor: Actor, taking: LimitState | Promise<LimitState>): Promise<LimitState> {
    let admitted = false;
    try {
      const state = await taking;
      admitted = state.admitted;
      return state;
    } finally {
      if (!admitted) this.leave(actor);
    }
  }

  #full({ actor, connections }: Bounds): LimitState {
    return {
      admitted: false,
      claim: claimOf(KEY_LIMITS.max_concurrent, actor.id, connections),
      remaining: 0,
      resetMs: this.parts.now() + CONNECTION_RETRY_MS,
    };
  }

  /** A key's actor is the same object until something about it changes; a user's is always new. */
  #boundsOf(actor: Actor): Bounds {
    const config = this.parts.config();
    const known = this.#bounds.get(actor.id);
    if (known !== undefined && known.actor === actor && known.config === config) return known;
    const { key, plan, planLimits, planPerMinute: ofPlan, tenant } = actor;
    const of = key && { id: actor.id, type: key.type, limits: key.limits };
    const organization = { id: tenant.org, plan, limits: planLimits, ofPlan };
    const connections = of && keyLimit(config, "max_concurrent", of).limit;
    const bounds = {
      actor,
      config,
      rest: this.#claims("rest", of, organization),
      mcp: this.#claims("mcp", of, organization),
      connections: connections ?? Infinity,
    };
    if (key !== null) this.#bounds.set(actor.id, bounds);
    return bounds;
  }

  /** The limits of a call; null for none. */
  #claims(
    call: Call,
    key: Key | null,
    organization: Organization | null,
  ): Claims<LimitClaim> | null {
    const config = this.parts.config();
    const own = key === null
      ? []
      : CALLS[call].key.map((name) =>
        [KEY_LIMITS[name], key.id, keyLimit(config, name, key).limit] as const
      );
    const shared = organization === null || !CALLS[call].plan ? [] : [
      [
        OTHER_LIMITS.organization,
        organization.id,
        planLimit(config, organization, organization.ofPlan).limit,
      ] as const,
    ];
    const [first, ...others] = [...own, ...shared].flatMap(([kind, id, limit]) =>
      limit === null ? [] : [claimOf(kind, id, limit)]
    );
    return first === undefined ? null : [first, ...others];
  }
}

/** The rest of a limit; `remaining` is null for no limit, `resetMs` for no window. */
export interface Left {
  readonly remaining: number | null;
  readonly resetMs: number | null;
}

const claimOf = (kind: LimitKind, id: string, limit: number): LimitClaim => ({
  key: `${kind.scope}:${id}`,
  id,
  limit,
  windowMs: kind.windowMs ?? CONNECTION_RETRY_MS,
  kind,
});

/** Seconds until a refused caller may try again, at least 1. */
export const retryAfterOf = ({ resetMs }: LimitState, nowMs: number): number =>
  Math.max(1, Math.ceil((resetMs - nowMs) / 1000));

/** The refusal: which limit of whom was reached, when to try again, and who may raise it. */
export function tooMany(state: LimitState, nowMs: number): Fault {
  const { claim: { kind, id, limit }, resetMs } = state;
  const { scope, whose, words, advice } = kind;
  const retry_after = retryAfterOf(state, nowMs);
  const what = `Reached the limit of ${limit} ${words} for ${whose}. ` +
    `Try again in ${retry_after} s.${advice === undefined ? "" : ` ${advice}`}`;
  return limitReached(what, {
    limit,
    scope,
    of: { type: kind.of, id },
    raise: kind.raise(id),
    reset: Math.ceil(resetMs / 1000),
    retry_after,
  });
}

/** @throws {Fault} RATE_LIMIT_EXCEEDED unless a limit admits the request */
export function mustPass(state: LimitState, nowMs: number): void {
  if (!state.admitted) throw tooMany(state, nowMs);
}
