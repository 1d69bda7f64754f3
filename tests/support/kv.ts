import { deepStrictEqual } from "node:assert/strict";
import { z } from "zod";
import { type Collection, collection, type Tenant } from "../../kv/store/collection.ts";
import { SEQUENCING_LIMITS } from "../../kv/log/sequencing.ts";
import { EventLog, type Sequenced } from "../../kv/log/log.ts";
import { Store } from "../../kv/store/store.ts";
import { ManualClock } from "./clock.ts";

export const ITEM = z.strictObject({
  id: z.string(),
  slug: z.string(),
  mail: z.string().nullable(),
  team: z.string(),
  due: z.number().nullable(),
  n: z.int(),
});
export type Item = z.infer<typeof ITEM>;

/** A record with every kind of index. */
export const itemsNamed = (name: string, cached: number): Collection<Item> =>
  collection({
    name,
    schema: ITEM,
    unique: { slug: (item) => [item.slug] },
    lookup: { mail: (item) => item.mail === null ? null : [item.mail] },
    index: { team: (item) => [item.team, item.n] },
    queue: { due: (item) => item.due === null ? null : [item.due] },
    counted: true,
    cached,
  });

/** A whole record; what is not said is a function of the id. */
export const item = (id: string, over: Partial<Item> = {}): Item => ({
  id,
  slug: `slug-${id}`,
  mail: null,
  team: "t",
  due: null,
  n: 0,
  ...over,
});

const TICKET = z.strictObject({ id: z.string(), slug: z.string(), until: z.number().nullable() });
export type Ticket = z.infer<typeof TICKET>;

/** A record that expires. */
export const ticketsNamed = (name: string, cached: number): Collection<Ticket> =>
  collection({
    name,
    schema: TICKET,
    unique: { slug: (ticket) => [ticket.slug] },
    index: { all: (ticket) => [ticket.slug] },
    expiresAt: (ticket) => ticket.until,
    cached,
  });

/** A clock on which only timers wait: the pause after a locked database is over at once. */
export class EagerClock extends ManualClock {
  override sleep(): Promise<void> {
    return Promise.resolve();
  }
}

type Over = Partial<
  Pick<
    Deno.Kv,
    "atomic" | "close" | "delete" | "enqueue" | "get" | "getMany" | "list" | "set" | "watch"
  >
>;

/** The same engine, with some of its methods replaced. */
export function overKv(kv: Deno.Kv, over: Over): Deno.Kv {
  return new Proxy(kv, {
    get(target, name) {
      if (name in over) return over[name as keyof Over];
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The same engine, for a store that is thrown away like a process that dies: closing it does nothing. */
export const shared = (kv: Deno.Kv): Deno.Kv => overKv(kv, { close: () => {} });

/** Stands in for a self-hosted denokv server: no queue, and ten checks an atomic. */
export function strictKv(kv: Deno.Kv): Deno.Kv {
  const enqueue = () => {
    throw new Error("Enqueue operations are not supported in KV Connect");
  };
  const atomic = () => {
    const op = kv.atomic();
    const check = op.check.bind(op);
    let checks = 0;
    op.enqueue = enqueue;
    op.check = (...entries) => {
      checks += entries.length;
      if (checks > 10) throw new TypeError("Too many checks (max 10)");
      return check(...entries);
    };
    return op;
  };
  return overKv(kv, { atomic, enqueue });
}

/** Replaces what happens at each commit; `commit` is the engine's own. */
export function committing(
  kv: Deno.Kv,
  then: (
    commit: () => Promise<Deno.KvCommitResult | Deno.KvCommitError>,
  ) => Promise<Deno.KvCommitResult | Deno.KvCommitError>,
): Deno.Kv {
  return overKv(kv, {
    atomic: () => {
      const op = kv.atomic();
      const commit = op.commit.bind(op);
      op.commit = () => then(commit);
      return op;
    },
  });
}

/** A KV that once, when it is told to, throws instead of answering a commit, which it made or did not make. */
export function losesReply(kv: Deno.Kv, made: boolean): { kv: Deno.Kv; loseNext(): void } {
  let losing = false;
  const losesOne = committing(kv, async (commit) => {
    if (!losing) return await commit();
    losing = false;
    if (made) await commit();
    throw new Error("reply lost");
  });
  return { kv: losesOne, loseNext: () => losing = true };
}

/** Refuses some commits, loses the reply of some that it makes, and is locked now and then. */
export function faultyKv(kv: Deno.Kv, unit: () => number): Deno.Kv {
  return committing(kv, async (commit) => {
    const roll = unit();
    if (roll < 0.1) return { ok: false };
    if (roll < 0.15) throw new TypeError("database is locked");
    if (roll < 0.2) throw new Error("connection reset before the request was sent");
    const result = await commit();
    if (roll > 0.93) throw new Error("connection reset before the reply came");
    return result;
  });
}

/** A store with its log, in memory unless told otherwise, on a clock that the test moves. */
export class Bench implements AsyncDisposable {
  readonly clock = new EagerClock();
  readonly errors: unknown[] = [];
  readonly store: Store;
  readonly log: EventLog;
  readonly items: Collection<Item>;
  readonly tickets: Collection<Ticket>;
  readonly tenant: Tenant;
  readonly other: Tenant;

  constructor(
    readonly kv: Deno.Kv,
    /** Keeps this bench's data apart from whatever else is in the store. */
    label = "x",
    options: { sole: boolean; hasQueue: boolean } = { sole: true, hasQueue: true },
    limits = SEQUENCING_LIMITS,
  ) {
    this.store = new Store(kv, { clock: this.clock, ...options });
    this.log = new EventLog(this.store, (error) => this.errors.push(error), limits);
    this.items = itemsNamed(`items_${label}`, 100);
    this.tickets = ticketsNamed(`tickets_${label}`, 100);
    this.tenant = { org: `org_${label}`, space: "live" };
    this.other = { org: `org_${label}`, space: "test" };
  }

  static async memory(): Promise<Bench> {
    return new Bench(await Deno.openKv(":memory:"));
  }

  put(...records: Item[]): Promise<void> {
    return this.store.transact((tx) => {
      for (const record of records) tx.put(this.items, this.tenant, record);
    });
  }

  async events(tenant = this.tenant): Promise<Sequenced[]> {
    await this.log.flush();
    return await this.log.read(tenant, 0, 1_000_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.log.stop();
    await this.store.close();
  }
}

/** Every key below a prefix with its value, as one text each. */
export async function dump(kv: Deno.Kv, prefix: Deno.KvKey): Promise<string[]> {
  const out: string[] = [];
  for await (const { key, value } of kv.list({ prefix })) {
    const shown = value instanceof Deno.KvU64
      ? `${value.value}`
      : value instanceof Uint8Array && value.length === 0
      ? "mark"
      : JSON.stringify(value);
    out.push(`${key.map(String).join("/")} = ${shown}`);
  }
  return out.sort();
}

/** Fails unless what is stored of `of` is exactly these records and the entries that they need. */
export async function assertStored(
  kv: Deno.Kv,
  of: Collection<Item>,
  model: ReadonlyMap<string, { tenant: Tenant; record: Item }>,
): Promise<void> {
  const expected: string[] = [], counts = new Map<string, number>();
  for (const { tenant: { org, space }, record } of model.values()) {
    const { id, slug, mail, team, due, n } = record;
    expected.push(`${org}/${space}/${of.name}/${id} = ${JSON.stringify(record)}`);
    expected.push(`${org}/${space}/${of.name}.slug/${slug} = "${id}"`);
    expected.push(`${org}/${space}/${of.name}.team/${team}/${n}/${id} = mark`);
    if (mail !== null) {
      const pointer = JSON.stringify([org, space, id]);
      expected.push(`~system/live/${of.name}.mail/${mail} = ${pointer}`);
    }
    if (due !== null) {
      expected.push(`~system/live/${of.name}.due/${due}/${org}/${space}/${id} = mark`);
    }
    counts.set(`${org}/${space}`, (counts.get(`${org}/${space}`) ?? 0) + 1);
  }
  for (const [tenant, n] of counts) expected.push(`${tenant}/${of.name}# = ${n}`);
  const stored = (await dump(kv, [])).filter((line) => line.includes(`/${of.name}`));
  deepStrictEqual(
    stored.filter((line) => !line.endsWith(`/${of.name}# = 0`)),
    expected.sort(),
  );
}

/** A shared engine as a process sees it that may die: from then on it commits nothing. */
export function mortal(engine: Deno.Kv): { readonly kv: Deno.Kv; alive: boolean } {
  const process = {
    alive: true,
    kv: committing(shared(engine), (commit) => {
      if (!process.alive) throw new Error("this process is dead");
      return commit();
    }),
  };
  return process;
}
