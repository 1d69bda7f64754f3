import { deepFreeze } from "../../kv/store/collection.ts";

/** A stored value and the commit that wrote it. */
interface Stored {
  readonly key: Deno.KvKey;
  readonly value: unknown;
  readonly versionstamp: string;
}

interface Atomic {
  readonly checks: { key: Deno.KvKey; versionstamp: string | null }[];
  readonly writes: ((versionstamp: string) => void)[];
}

/** A row before and after a commit. */
export interface Change {
  readonly key: Deno.KvKey;
  readonly before: unknown;
  readonly after: unknown;
}

type Selector = { prefix?: Deno.KvKey; start?: Deno.KvKey; end?: Deno.KvKey };

const ORDER = { object: "1", string: "2", number: "3", bigint: "4", boolean: "5" } as const;
const END = "\x00", AFTER_ALL = "\uffff";
const VERSIONSTAMP = Symbol("the versionstamp of the commit");

const numbers = new DataView(new ArrayBuffer(8));

/** A key as a text that sorts as keys do. */
const textOf = (key: Deno.KvKey): string =>
  key.map((part) => `${ORDER[typeof part as keyof typeof ORDER]}${partText(part)}${END}`).join("");

function partText(part: Deno.KvKeyPart): string {
  if (part instanceof Uint8Array) return String.fromCharCode(...part.map((byte) => byte + 1));
  if (typeof part === "bigint") return String(part).padStart(24, "0");
  // A string that begins with another one and then has a zero sorts after all keys that begin with the other one.
  if (typeof part !== "number") return String(part).replaceAll("\0", `\0${AFTER_ALL}`);
  // The bits of a number sort as it does, once those of negative ones are inverted.
  numbers.setFloat64(0, part);
  const bits = numbers.getBigUint64(0);
  const sorted = bits >> 63n ? BigInt.asUintN(64, ~bits) : bits | 1n << 63n;
  return sorted.toString(16).padStart(16, "0");
}

/** An entry as a reader gets it. Bytes are the reader's own, because nothing can freeze them. */
const entryOf = (stored: Stored): Stored =>
  stored.value instanceof Uint8Array ? { ...stored, value: stored.value.slice() } : stored;

/** A deep copy that nobody can change, so that all readers share it. */
const copyOf = (value: unknown) =>
  value instanceof Deno.KvU64 ? value : deepFreeze(structuredClone(value));

/**
 * An engine in memory that acts at once and in one thread, so that the order of all calls is the caller's. It holds to
 * the semantics of Deno KV that the product uses: order of keys, versionstamps, checks, counters, cursors.
 */
export class MemoryKv {
  readonly #rows = new Map<string, Stored>();
  /** The texts of all keys in order. */
  readonly #order: string[] = [];
  readonly #listeners = new Set<(texts: ReadonlySet<string>) => void>();
  #changed = new Set<string>();
  #changes: Change[] = [];
  /** Sees what each commit of a process set, at once. */
  onCommit: (by: string, changes: readonly Change[]) => void = () => {};
  #commits = 0;

  readonly versionstampPart = VERSIONSTAMP;

  get(key: Deno.KvKey): Deno.KvEntryMaybe<unknown> {
    const found = this.#rows.get(textOf(key));
    if (found === undefined) return { key, value: null, versionstamp: null };
    return entryOf(found);
  }

  /** The entries of a range after a cursor, at most `limit`. */
  list(selector: Selector, reverse: boolean, cursor: string, limit: number) {
    const prefix = selector.prefix && textOf(selector.prefix);
    // The key of a prefix alone is not below it.
    let from = selector.start ? textOf(selector.start) : `${prefix}\x01`;
    let to = selector.end ? textOf(selector.end) : `${prefix}${AFTER_ALL}`;
    if (cursor !== "") [from, to] = reverse ? [from, cursor] : [`${cursor}\x00`, to];
    const [first, end] = [this.#place(from), this.#place(to)];
    const texts = reverse
      ? this.#order.slice(Math.max(first, end - limit), Math.max(first, end)).reverse()
      : this.#order.slice(first, Math.min(end, first + limit));
    return texts.map((text) => ({ text, entry: entryOf(this.#rows.get(text)!) }));
  }

  commit({ checks, writes }: Atomic, by: string): Deno.KvCommitResult | Deno.KvCommitError {
    for (const { key, versionstamp } of checks) {
      if ((this.#rows.get(textOf(key))?.versionstamp ?? null) !== versionstamp) {
        return { ok: false };
      }
    }
    const versionstamp = String(++this.#commits).padStart(20, "0");
    for (const write of writes) write(versionstamp);
    const changed = this.#changed;
    this.#changed = new Set();
    const changes = this.#changes;
    this.#changes = [];
    this.onCommit(by, changes);
    for (const listener of this.#listeners) listener(changed);
    return { ok: true, versionstamp };
  }

  set(key: Deno.KvKey, value: unknown, versionstamp: string): void {
    const whole = key.map((part) => part as unknown === VERSIONSTAMP ? versionstamp : part);
    const text = textOf(whole);
    if (!this.#rows.has(text)) this.#order.splice(this.#place(text), 0, text);
    this.#changes.push({ key: whole, before: this.#rows.get(text)?.value, after: value });
    this.#rows.set(text, { key: whole, value, versionstamp });
    this.#changed.add(text);
  }

  delete(key: Deno.KvKey): void {
    const text = textOf(key);
    if (!this.#rows.delete(text)) return;
    this.#order.splice(this.#place(text), 1);
    this.#changed.add(text);
  }

  /** Calls `listener` after each commit that changed one of the keys; returns how to end it. */
  onChange(keys: readonly Deno.KvKey[], listener: () => void): () => void {
    const texts = keys.map(textOf);
    const heard = (changed: ReadonlySet<string>) => {
      if (texts.some((text) => changed.has(text))) listener();
    };
    this.#listeners.add(heard);
    return () => void this.#listeners.delete(heard);
  }

  /** The place of the first key that is not less. */
  #place(text: string): number {
    let low = 0, high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#order[middle]! < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

type Call = <R>(effect: () => R, writes: boolean) => Promise<R>;

/** The Deno KV of the process `by` over an engine: `call` decides when each call takes effect and what it answers. */
export function kvOver(
  engine: MemoryKv,
  by: string,
  call: Call,
  hint: (deliver: () => void) => void,
): Deno.Kv {
  const atomic = () => {
    const op: Atomic = { checks: [], writes: [] };
    const counted = (key: Deno.KvKey, next: (old: bigint) => bigint) => {
      op.writes.push((versionstamp) => {
        const old = engine.get(key).value as Deno.KvU64 | null;
        engine.set(key, new Deno.KvU64(BigInt.asUintN(64, next(old?.value ?? 0n))), versionstamp);
      });
      return self;
    };
    const self = {
      check: (...checks: Atomic["checks"]) => (op.checks.push(...checks), self),
      set(key: Deno.KvKey, value: unknown) {
        const copy = copyOf(value);
        op.writes.push((versionstamp) => engine.set(key, copy, versionstamp));
        return self;
      },
      delete: (key: Deno.KvKey) => (op.writes.push(() => engine.delete(key)), self),
      sum: (key: Deno.KvKey, n: bigint) => counted(key, (old) => old + n),
      max: (key: Deno.KvKey, n: bigint) => counted(key, (old) => old > n ? old : n),
      commit: () => call(() => engine.commit(op, by), true),
    };
    return self;
  };
  const list = (selector: Selector, options: Deno.KvListOptions = {}) => {
    const { limit = Infinity, reverse = false, batchSize = 100 } = options;
    let cursor = options.cursor ?? "", left = limit, ended = false;
    let batch: ReturnType<MemoryKv["list"]> = [];
    const iterator = {
      get cursor() {
        return cursor;
      },
      async next() {
        if (batch.length === 0 && !ended && left > 0) {
          const wanted = Math.min(left, batchSize);
          batch = await call(() => engine.list(selector, reverse, cursor, wanted), false);
          ended = batch.length < wanted;
        }
        const next = batch.shift();
        if (next === undefined) return { done: true, value: undefined };
        left--;
        cursor = next.text;
        return { done: false, value: next.entry };
      },
      return: () => Promise.resolve({ done: true, value: undefined }),
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  };
  const kv = {
    get: (key: Deno.KvKey) => call(() => engine.get(key), false),
    getMany: (keys: Deno.KvKey[]) => call(() => keys.map((key) => engine.get(key)), false),
    set: (key: Deno.KvKey, value: unknown) => atomic().set(key, value).commit(),
    delete: (key: Deno.KvKey) => atomic().delete(key).commit(),
    list,
    atomic,
    commitVersionstamp: () => engine.versionstampPart,
    watch(keys: Deno.KvKey[]) {
      let end = () => {}, ended = false;
      return new ReadableStream({
        start(controller) {
          const tell = () => {
            const entries = keys.map((key) => engine.get(key));
            hint(() => ended || controller.enqueue(entries));
          };
          end = engine.onChange(keys, tell);
          tell();
        },
        cancel() {
          ended = true;
          end();
        },
      });
    },
    close() {},
  };
  return kv as unknown as Deno.Kv;
}
