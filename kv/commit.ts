import type { Clock } from "./clock.ts";
import { StoreUnavailableError } from "./errors.ts";
import { ATOMIC_BYTES_MAX, LOG_VALUE_BYTES_MAX, MUTATIONS_MAX } from "./limits.ts";

/** One key that must not have changed since it was read. */
export interface Check {
  readonly key: Deno.KvKey;
  readonly slot: string;
  readonly versionstamp: string | null;
}

interface At {
  readonly key: Deno.KvKey;
  readonly slot: string;
  /** The group of the read cache that may hold this key, and its limit. */
  readonly cache?: { readonly group: string; readonly limit: number };
}

export type Mutation =
  | At & {
    readonly kind: "set";
    readonly value: unknown;
    readonly expireIn?: number;
    /** Rough size, for the engine's cap on an atomic. */
    readonly bytes: number;
  }
  | At & { readonly kind: "delete" }
  | At & { readonly kind: "sum"; readonly n: bigint };

/** What one caller wants committed: all of it or nothing. */
export interface Change {
  readonly checks: readonly Check[];
  readonly mutations: readonly Mutation[];
  /** Encoded log lines; those of one commit become one journal value, in order. */
  readonly lines: readonly string[];
  readonly lineBytes: number;
  /** Delays in ms after which the engine should wake the job runner. */
  readonly alarms: readonly number[];
}

/** The versionstamp of the commit, or null when a check failed and the caller should look again. */
export type Outcome = string | null;

interface Pending {
  readonly change: Change;
  readonly bytes: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

export const OUTBOX: Deno.KvKey = ["~", "outbox"];
/** More callers than this in one commit gain nothing and make each wait longer. */
const CALLERS_MAX = 128;
const QUEUE_MAX = 20_000;
const RECENT_MAX = 4_096;
/** Two handles on one file may collide; the engine then says so and nothing was written. */
const LOCKED_RETRIES_MAX = 50;
const encoder = new TextEncoder();

/**
 * Group commit: while one atomic is under way callers queue up, and all that fit go into the next one.
 * Each caller is answered after the commit that holds its change.
 */
export class Committer {
  #queue: Pending[] = [];
  #running: Promise<void> | null = null;
  #closed = false;
  /** Newest versionstamps of keys written here: a change that read an older one has lost already. */
  readonly #recent = new Map<string, string>();

  constructor(
    private readonly kv: Deno.Kv,
    private readonly options: {
      readonly clock: Clock;
      readonly checksMax: number;
      /** Called around each atomic with the slots that it writes. */
      readonly before: (mutations: readonly Mutation[]) => void;
      readonly after: (mutations: readonly Mutation[], versionstamp: string | null) => void;
      readonly committed: (lines: readonly string[]) => void;
    },
  ) {}

  /** @throws {StoreUnavailableError} when the queue is full, or the outcome is unknown. */
  submit(change: Change): Promise<Outcome> {
    if (this.#closed) return Promise.reject(new StoreUnavailableError("the store is closing"));
    if (this.#queue.length >= QUEUE_MAX) {
      return Promise.reject(new StoreUnavailableError("too many changes are waiting"));
    }
    let bytes = 0;
    for (const mutation of change.mutations) bytes += mutation.kind === "set" ? mutation.bytes : 64;
    return new Promise((resolve, reject) => {
      this.#queue.push({ change, bytes, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Commits what is queued and takes no more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** Resolves when nothing is queued or under way. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#commit(this.#take());
    this.#running = null;
  }

  /** The longest run of callers that fits into one atomic and does not contradict itself. */
  #take(): Pending[] {
    const batch: Pending[] = [], later: Pending[] = [];
    const written = new Set<string>();
    let checks = 0, mutations = 0, bytes = 0, lineBytes = 0, at = 0;
    for (; at < this.#queue.length && batch.length < CALLERS_MAX; at++) {
      const pending = this.#queue[at]!;
      const { change } = pending;
      if (this.#hasLost(change)) {
        pending.resolve(null);
        continue;
      }
      if (change.checks.some((check) => written.has(check.slot))) {
        later.push(pending);
        continue;
      }
      checks += change.checks.length;
      mutations += change.mutations.length + 2;
      bytes += pending.bytes;
      lineBytes += change.lineBytes + change.lines.length;
      const fits = checks <= this.options.checksMax && mutations <= MUTATIONS_MAX &&
        bytes <= ATOMIC_BYTES_MAX * 0.8 && lineBytes <= LOG_VALUE_BYTES_MAX;
      if (!fits && batch.length > 0) break;
      batch.push(pending);
      for (const mutation of change.mutations) written.add(mutation.slot);
      if (!fits) {
        at++;
        break;
      }
    }
    this.#queue = at >= this.#queue.length ? later : later.concat(this.#queue.slice(at));
    return batch;
  }

  #hasLost(change: Change): boolean {
    return change.checks.some(({ slot, versionstamp }) => {
      const newest = this.#recent.get(slot);
      return newest !== undefined && newest > (versionstamp ?? "");
    });
  }

  async #commit(batch: Pending[]): Promise<void> {
    if (batch.length === 0) return;
    const mutations = batch.flatMap((pending) => pending.change.mutations);
    this.options.before(mutations);
    let versionstamp: string | null = null;
    try {
      versionstamp = await this.#write(batch, mutations);
    } catch (error) {
      this.options.after(mutations, null);
      if (batch.length > 1 && isRefusal(error)) return await this.#halves(batch);
      const reason = isRefusal(error)
        ? error
        : new StoreUnavailableError("the outcome of a commit is unknown", { cause: error });
      for (const pending of batch) pending.reject(reason);
      return;
    }
    this.#remember(mutations, versionstamp);
    this.options.after(mutations, versionstamp);
    if (versionstamp === null && batch.length > 1) return await this.#halves(batch);
    const lines = batch.flatMap((pending) => pending.change.lines);
    if (versionstamp !== null && lines.length > 0) this.options.committed(lines);
    for (const pending of batch) pending.resolve(versionstamp);
  }

  /** One change that cannot be committed must not take its neighbours down. */
  async #halves(batch: Pending[]): Promise<void> {
    const half = batch.length >> 1;
    await this.#commit(batch.slice(0, half));
    const rest = batch.slice(half).filter((pending) => {
      if (!this.#hasLost(pending.change)) return true;
      pending.resolve(null);
      return false;
    });
    await this.#commit(rest);
  }

  async #write(batch: readonly Pending[], mutations: readonly Mutation[]): Promise<string | null> {
    for (let attempt = 1;; attempt++) {
      const op = this.kv.atomic();
      const checked = new Set<string>();
      for (const { change } of batch) {
        for (const { key, slot, versionstamp } of change.checks) {
          if (checked.has(slot)) continue;
          checked.add(slot);
          op.check({ key, versionstamp });
        }
      }
      for (const mutation of mutations) {
        if (mutation.kind === "delete") op.delete(mutation.key);
        else if (mutation.kind === "sum") op.sum(mutation.key, mutation.n);
        else if (mutation.expireIn === undefined) op.set(mutation.key, mutation.value);
        else op.set(mutation.key, mutation.value, { expireIn: mutation.expireIn });
      }
      const lines = batch.flatMap((pending) => pending.change.lines);
      if (lines.length > 0) {
        const key = [...OUTBOX, this.kv.commitVersionstamp()] as unknown as Deno.KvKey;
        op.set(key, encoder.encode(lines.join("\n")));
      }
      for (const { change } of batch) {
        for (const delay of change.alarms) op.enqueue("wake", { delay, backoffSchedule: [] });
      }
      try {
        const result = await op.commit();
        return result.ok ? result.versionstamp : null;
      } catch (error) {
        if (!isLocked(error) || attempt === LOCKED_RETRIES_MAX) throw error;
        await this.options.clock.sleep(1 + attempt);
      }
    }
  }

  #remember(mutations: readonly Mutation[], versionstamp: string | null): void {
    if (versionstamp === null) return;
    for (const { slot } of mutations) {
      this.#recent.delete(slot);
      this.#recent.set(slot, versionstamp);
    }
    while (this.#recent.size > RECENT_MAX) {
      this.#recent.delete(this.#recent.keys().next().value!);
    }
  }
}

/** The engine looked at the atomic and took none of it: too large, or not serialisable. */
function isRefusal(error: unknown): boolean {
  return error instanceof TypeError && !isLocked(error) ||
    error instanceof DOMException && error.name === "DataCloneError";
}

const isLocked = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("database is locked");
