import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import { type Hours, type Series, zeroHours } from "../../kv/store/series.ts";
import { SeriesCounter, type SeriesKind } from "../../kv/store/series_counter.ts";
import type { Store } from "../../kv/store/store.ts";

/** Organizations whose day stays in memory after it was written. */
const MEMORY = { series: 2_000, names: Infinity };
/** Rules of policies are user-defined: at most this many are named in one day. */
const DENIALS = "denials.";
const DENIALS_MAX = 150;
/** Counts the denials beyond that. */
const OTHERS = `${DENIALS}others`;
/** The approximate size of a name with its hours, and of an empty day. */
const NAME_BYTES = 260;
const EMPTY_BYTES = 512;

/** Counts by name and hour of a day. */
export type NamedHours = ReadonlyMap<string, Hours>;

interface DayCounts {
  readonly names: Map<string, Hours>;
  /** How many denials were named or counted as others. */
  denials: number;
}

const KIND: SeriesKind<DayCounts, NamedHours> = {
  emptyDay: () => ({ names: new Map(), denials: 0 }),
  encode: ({ names }) => ({ value: names, bytes: EMPTY_BYTES + names.size * NAME_BYTES }),
  namesOf: ({ names }) => names.size,
};

/** Counts what happens in each organization and in the whole installation; only the live space counts. */
export class Activity {
  readonly #counter: SeriesCounter<DayCounts, NamedHours>;

  constructor(
    store: Store,
    instance: string,
    onError: (error: unknown) => void,
    /** Called for each `count`; not for requests. */
    private readonly onCount: (name: string) => void,
  ) {
    this.#counter = new SeriesCounter(store, instance, onError, KIND, MEMORY);
  }

  /** Adds one to the count of a name such as `commands.succeeded`. */
  count(tenant: Tenant, name: string): void {
    if (tenant.space === "test") return;
    this.onCount(name);
    this.#addTo(tenant, name);
  }

  /** Counts an answered request. */
  request(tenant: Tenant, status: number): void {
    if (tenant.space === "test") return;
    this.#addTo(tenant, "requests.all");
    if (status >= 500) this.#addTo(tenant, "requests.server_errors");
    else if (status >= 400) this.#addTo(tenant, "requests.client_errors");
  }

  /** Each writer's days from `fromMs` up to `toMs`, with what is not written here yet. */
  days(tenant: Tenant, fromMs: number, toMs: number) {
    return this.#counter.days(tenant.org, seriesOf(tenant), fromMs, toMs);
  }

  /** Resolves when everything counted before the call is in the store. */
  flush(): Promise<void> {
    return this.#counter.flush();
  }

  /** Writes what is left. */
  stop(): Promise<void> {
    return this.#counter.stop();
  }

  /** Counts for the organization and for the installation. */
  #addTo(tenant: Tenant, name: string): void {
    this.#add(SYSTEM, name);
    if (tenant.org !== SYSTEM.org) this.#add(tenant, name);
  }

  #add(tenant: Tenant, name: string): void {
    const { day, hour } = this.#counter.now(tenant.org, () => seriesOf(tenant));
    let hours = day.names.get(name);
    if (hours === undefined) {
      const denial = name.startsWith(DENIALS);
      const known = denial && day.denials >= DENIALS_MAX ? OTHERS : name;
      if (denial) day.denials++;
      hours = day.names.get(known) ?? zeroHours();
      day.names.set(known, hours);
    }
    hours[hour]!++;
  }
}

const seriesOf = (tenant: Tenant): Series => ({ tenant, name: "activity", id: "all" });
