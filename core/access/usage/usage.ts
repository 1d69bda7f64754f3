import type { Tenant } from "../../../kv/store/collection.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import type { Series } from "../../../kv/store/series.ts";
import { SeriesCounter, type SeriesKind } from "../../../kv/store/series_counter.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Actor } from "../../identity/identity.ts";
import {
  countName,
  type DayCounts,
  emptyDay,
  type Endpoint,
  type StoredDay,
  storedDay,
} from "./day.ts";

/** Keys whose day stays in memory after it was written. */
const KEYS_MAX = 10_000;
/** Names take most of the memory, about 300 bytes each. */
const NAMES_MAX = 100_000;

const KIND: SeriesKind<DayCounts, StoredDay> = {
  emptyDay,
  encode: storedDay,
  namesOf: (day) => day.agents.size + day.endpoints.size,
  exists: async (tx, { tenant, id }) => await tx.get(apiKeys, tenant, id) !== null,
  keepsLatest: true,
};

/** Counts what API keys do; requests by users are not counted. */
export class Usage {
  readonly #counter: SeriesCounter<DayCounts, StoredDay>;

  constructor(
    store: Store,
    instance: string,
    onError: (error: unknown) => void,
    max = { keys: KEYS_MAX, names: NAMES_MAX },
  ) {
    const memory = { series: max.keys, names: max.names };
    this.#counter = new SeriesCounter(store, instance, onError, KIND, memory);
  }

  /**
   * Counts an answered request of a key. A request that a limit refused counts as only that. `agent` is the
   * agent that it named, if any.
   */
  request(actor: Actor, endpoint: Endpoint, agent: string | null, status: number): void {
    if (actor.kind !== "api_key") return;
    const { day, hour } = this.#now(actor);
    if (status === 429) {
      day.rateLimited[hour]!++;
      return;
    }
    day.requests[hour]!++;
    countName(day.endpoints, endpoint, hour);
    // A malformed or unknown agent is not counted.
    if (agent === null || status === 400 || status === 404) return;
    countName(day.agents, agent, hour);
  }

  /** Counts a tool call by MCP; `agent` is the agent that it named, if any. */
  mcpCall(actor: Actor, agent: string | null): void {
    if (actor.kind !== "api_key") return;
    const { day, hour } = this.#now(actor);
    day.mcpCalls[hour]!++;
    if (agent !== null) countName(day.agents, agent, hour);
  }

  /** Each writer's days from `fromMs` up to `toMs`, with what is not written here yet. */
  days(tenant: Tenant, id: string, fromMs: number, toMs: number) {
    return this.#counter.days(id, seriesOf(tenant, id), fromMs, toMs);
  }

  /** When a key was last used, in ms, or null. */
  lastUsed(tenant: Tenant, id: string): Promise<number | null> {
    return this.#counter.latest(id, seriesOf(tenant, id));
  }

  /** Deletes a key's usage with the change that deletes the key. */
  forget(tx: Tx, tenant: Tenant, id: string): void {
    this.#counter.delete(tx, id, seriesOf(tenant, id));
  }

  /** How many keys have counts that a crash would lose. */
  get unwritten(): number {
    return this.#counter.unwritten;
  }

  /** Resolves when everything counted before the call is in the store. */
  flush(): Promise<void> {
    return this.#counter.flush();
  }

  /** Writes what is left. */
  stop(): Promise<void> {
    return this.#counter.stop();
  }

  #now({ tenant, id }: Actor) {
    return this.#counter.now(id, () => seriesOf(tenant, id));
  }
}

const seriesOf = (tenant: Tenant, id: string): Series => ({ tenant, name: "api_key_usage", id });
