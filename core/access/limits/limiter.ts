import type { Tenant } from "../../../kv/store/collection.ts";
import type { Claim, Claims, Grant, LeasedCounters } from "../../../kv/limits/counters.ts";
import type { ApiKeyRecord } from "../../../kv/records/api_key.ts";
import type { OrganizationRecord } from "../../../kv/records/organization.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import type { LeasedSlots } from "../../../kv/limits/slots.ts";
import type { Actor } from "../../work/work.ts";
import type { Config } from "../../work/config.ts";
import { Fault } from "../../fault/fault.ts";
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
} from "./limits.ts";
import { networkOf } from "./network.ts";

/** What an unlimited limit shows: the largest number that every client can read. */
export const UNLIMITED = 2_147_483_647;
const MINUTE_MS = 60_000;
/** A connection may end at any moment. */
const CONNECTION_RETRY_MS = 1_000;
const ACTORS_MAX = 20_000;
/** Organizations whose refusals are remembered between two housekeepings. */
const REFUSED_MAX = 1_000;

/** A limit that somebody must pass. */
interface LimitClaim extends Claim {
  readonly kind: LimitKind;
}

/** Whether a request may pass, and the limit that a response shows. */
export type LimitState = Grant<LimitClaim>;

type Key = Pick<ApiKeyRecord, "id" | "type" | "limits">;
/** With what its plan says of requests per minute. */
type Organization = Pick<OrganizationRecord, "id" | "plan" | "limits"> & {
  readonly ofPlan: number | null | undefined;
};

/** What an actor must pass, worked out once for as long as the actor and the configuration stand. */
interface Bounds {
  readonly actor: Actor;
  readonly config: Config;
  readonly rest: Claims<LimitClaim> | null;
  readonly mcp: Claims<LimitClaim> | null;
  readonly connections: number;
}

/** Decides whether a request may pass now. */
export class Limiter {
  readonly #bounds = new RecentMap<Bounds>(ACTORS_MAX);
  readonly #refusedByPlan = new Map<string, { readonly tenant: Tenant; readonly limit: number }>();
  readonly #unlimited: LimitClaim = {
    key: "",
    limit: UNLIMITED,
    windowMs: MINUTE_MS,
    kind: OTHER_LIMITS.organization,
  };

  constructor(
    private readonly parts: {
      readonly counters: LeasedCounters;
      /** Apart, so that a flood from many addresses does not push the counters of others out of memory. */
      readonly addresses: LeasedCounters;
      readonly connections: LeasedSlots;
      readonly config: () => Config;
      readonly now: () => number;
    },
  ) {}

  /**
   * Takes one from every limit that binds this call, and a connection, or nothing at all. Whoever was
   * admitted gives the connection back by `leave`, once.
   */
  admit(actor: Actor, call: "rest" | "mcp"): LimitState | Promise<LimitState> {
    const state = this.#admit(actor, call);
    return state instanceof Promise
      ? state.then((state) => this.#noted(actor, state))
      : this.#noted(actor, state);
  }

  /** The organizations whose plan refused a request since this was asked last. */
  takeRefusedByPlan(): { readonly tenant: Tenant; readonly limit: number }[] {
    const refused = [...this.#refusedByPlan.values()];
    this.#refusedByPlan.clear();
    return refused;
  }

  /** A refusal writes nothing; it is only remembered, for the next housekeeping. */
  #noted({ tenant }: Actor, state: LimitState): LimitState {
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

  /** A connection that an API key was admitted with has ended. */
  leave(actor: Actor): void {
    if (actor.key !== null) this.parts.connections.leave(actor.id);
  }

  /** Gives back the connections that are leased, because this instance ends. */
  close(): Promise<void> {
    return this.parts.connections.close();
  }

  /** A delivery of a webhook that this key created; when it is not admitted, `resetMs` is when to try again. */
  takeForDelivery(key: Key): LimitState | Promise<LimitState> {
    return this.#take(this.#claims("delivery", key, null));
  }

  /** A public endpoint, by the client's network; a large body counts as several requests, in an empty window always admitted. */
  takeForAddress(address: string, requests = 1): LimitState | Promise<LimitState> {
    const limit = this.parts.config().limits.public_per_minute;
    if (limit === null) return this.unlimited();
    const claim = claimOf(OTHER_LIMITS.address, networkOf(address), limit);
    const amount = Math.min(requests, limit);
    return this.parts.addresses.takeAll([amount === 1 ? claim : { ...claim, amount }]);
  }

  /** A report about one agent: what others say of it takes nothing from what it says itself. */
  takeForAgent(id: string, by: "itself" | "anybody"): LimitState | Promise<LimitState> {
    const counted = by === "itself" ? `${id}:own` : id;
    const claim = claimOf(OTHER_LIMITS.agent, counted, AGENT_REPORTS_PER_MINUTE);
    return this.parts.counters.takeAll([claim]);
  }

  /** What an endpoint outside all limits shows. */
  unlimited(): LimitState {
    const resetMs = (Math.floor(this.parts.now() / MINUTE_MS) + 1) * MINUTE_MS;
    return { admitted: true, claim: this.#unlimited, remaining: UNLIMITED, resetMs };
  }

  /** How much of a key's own limit is left now, at the least, and when its window ends. */
  async leftOfKey(name: KeyLimit, key: Key): Promise<Left> {
    const { limit } = keyLimit(this.parts.config(), name, key);
    const kind: LimitKind = KEY_LIMITS[name];
    if (kind.windowMs !== null) return await this.#left(kind, key.id, limit);
    const open = limit === null ? 0 : await this.parts.connections.taken(key.id);
    return { remaining: limit === null ? null : Math.max(0, limit - open), resetMs: null };
  }

  /** The same of an organization's plan. */
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

  /** Nothing is asked of the store for a connection as long as the counters refuse anyway. */
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

  /** A key's actor is the same object as long as nothing of it has changed; a user's never is. */
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

  /** What binds a call; null when nothing does. */
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

/** What is left of a limit; `null` remaining is unlimited, `null` reset has no window. */
export interface Left {
  readonly remaining: number | null;
  readonly resetMs: number | null;
}

const claimOf = (kind: LimitKind, id: string, limit: number): LimitClaim => ({
  key: `${kind.scope}:${id}`,
  limit,
  windowMs: kind.windowMs ?? CONNECTION_RETRY_MS,
  kind,
});

/** After how many seconds a refused caller may come again. */
export const retryAfterOf = ({ resetMs }: LimitState, nowMs: number): number =>
  Math.max(1, Math.ceil((resetMs - nowMs) / 1000));

/** What a refused caller is told: which limit it was, and when to try again. */
export function tooMany(state: LimitState, nowMs: number) {
  const { claim: { kind: { scope, whose, words, advice }, limit }, resetMs } = state;
  const retry_after = retryAfterOf(state, nowMs);
  const message = `The limit of ${limit} ${words} for ${whose} is reached. ` +
    `Try again in ${retry_after} s.${advice === undefined ? "" : ` ${advice}`}`;
  const details = { limit, scope, reset: Math.ceil(resetMs / 1000), retry_after };
  return { code: "RATE_LIMIT_EXCEEDED", message, details } as const;
}

/** @throws {Fault} RATE_LIMIT_EXCEEDED unless a limit admits the request */
export function mustPass(state: LimitState, nowMs: number): void {
  if (state.admitted) return;
  const { code, message, details } = tooMany(state, nowMs);
  throw new Fault(code, message, details);
}
