import { type Change, type Check, type Mutation, writesOf } from "../store/change.ts";
import type { Clock } from "../store/clock.ts";
import { isRefusal, StoreUnavailableError, withoutUsers } from "../engine/errors.ts";
import { type CommitKeys, conflicts, keysOf } from "./commit_keys.ts";
import { CommitDelay } from "./delay.ts";
import { type Line, OUTBOX, outboxText } from "../log/line.ts";
import { oneSumEach, oneValueEach } from "../store/merge.ts";
import type { Capacity, InlineSequence, Sequencer } from "../log/sequencer.ts";
import { RecentMap } from "../store/recent.ts";
import { ATOMIC_BYTES_MAX, KEY_BYTES_MAX, MUTATIONS_MAX } from "../engine/engine_limits.ts";
import { KEY_OVERHEAD_BYTES, Load } from "../store/load.ts";
import type { StoreHealth } from "../engine/health.ts";

/** The versionstamp of the commit, or null when a check failed and the caller must read again. */
type Outcome = string | null;

interface Pending {
  readonly change: Change;
  readonly bytes: number;
  readonly keyBytes: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/** Callers of one commit. The others wait for the next one, so requests are served during the write. */
const CALLERS_MAX = 64;
/** This many reorderable changes justify a second commit in parallel. */
const REORDERABLE_MIN = 32;
const QUEUE_MAX = 20_000;
/** Bytes that may wait in memory for their commit; beyond it `submit` fails. */
const QUEUE_BYTES_MAX = 128 * 1024 * 1024;
const RECENT_MAX = 4_096;
/** Retries when another handle on the same file holds its lock; the engine has written nothing then. */
const LOCKED_RETRIES_MAX = 50;
const encoder = new TextEncoder();

/**
 * Group commit: callers queue while an atomic is in flight, and all that fit go into the next one. Each
 * caller is answered after the commit that holds its change. When many queued changes are reorderable, they
 * form a second atomic at once, so that the engine has it at hand when the first is written.
 */
export class Committer {
  #queue: Pending[] = [];
  readonly #delay = new CommitDelay(() => this.#queue.length);
  #waitingBytes = 0;
  #running: Promise<void> | null = null;
  /** The callers of the commit in flight. */
  #inFlight: readonly Pending[] | null = null;
  /** The second commit, of reorderable changes. */
  #parallel: Promise<void> | null = null;
  #parallelKeys: CommitKeys | null = null;
  /** How many reorderable changes are queued. */
  #reorderable = 0;
  /** True while a change waits for a key in flight. No parallel commit starts then, or it could wait for ever. */
  #isBlocked = false;
  #closed = false;
  /** Newest versionstamps of keys written here: a change that read an older one has lost its race. */
  readonly #recent = new RecentMap<string>(RECENT_MAX);
  /** Called with the time that each commit took, in ms. */
  onCommit: (ms: number) => void = () => {};

  constructor(
    private readonly kv: Deno.Kv,
    private readonly options: {
      readonly clock: Clock;
      readonly checksMax: number;
      /** The most checks of changes that are merged into one atomic, if fewer. */
      readonly mergedChecksMax?: number;
      /** Called after an atomic; the versionstamp is null when it failed or its outcome is unknown. */
      readonly after: (mutations: readonly Mutation[], versionstamp: string | null) => void;
      readonly log: () => Sequencer;
      /** Called when a check of a single change failed: the read cache may be stale. */
      readonly denied: (checks: readonly Check[]) => void;
      /** Records whether each commit succeeded. */
      readonly health: Pick<StoreHealth, "record">;
    },
  ) {}

  /**
   * @throws {RangeError} when no commit could hold the change
   * @throws {StoreUnavailableError} when the queue is full, or the outcome is unknown
   */
  submit(change: Change): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#enqueue(change, resolve, reject);
      this.#running ??= this.#run();
    });
  }

  #enqueue(change: Change, resolve: Pending["resolve"], reject: Pending["reject"]): void {
    if (this.#closed) throw new StoreUnavailableError("the store is closing");
    const { checksMax } = this.options;
    if (change.checks.length > checksMax || writesOf(change) > MUTATIONS_MAX) {
      throw new RangeError(
        `a change has ${change.checks.length} checks and ${writesOf(change)} writes; ` +
          `the limits of this store are ${checksMax} and ${MUTATIONS_MAX}`,
      );
    }
    let bytes = change.lineBytes, keyBytes = 0;
    for (const line of change.coalesced) bytes += line.bytes;
    for (const mutation of change.mutations) {
      bytes += mutation.kind === "set" ? mutation.bytes : 64;
      if (mutation.kind !== "delete") keyBytes += mutation.keyText.length + KEY_OVERHEAD_BYTES;
    }
    if (this.#queue.length >= QUEUE_MAX || this.#waitingBytes + bytes > QUEUE_BYTES_MAX) {
      throw new StoreUnavailableError("too many changes are queued");
    }
    this.#waitingBytes += bytes;
    this.#queue.push({ change, bytes, keyBytes, resolve, reject });
    if (!change.reorderable || ++this.#reorderable < REORDERABLE_MIN || this.#inFlight === null) {
      return;
    }
    this.#parallel ??= this.#runParallel().finally(() => this.#parallel = null);
  }

  /** Commits what is queued; later submits fail. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** Resolves when nothing is queued or in flight. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    try {
      while (this.#queue.length > 0 || this.#parallel !== null) {
        await this.#delay.wait();
        const batch = this.#take(this.#parallelKeys);
        // The queue is empty, or all of it waits for keys of the parallel commit.
        if (batch.length === 0) await this.#parallel;
        else this.#delay.committed(batch.length);
        this.#inFlight = batch;
        await this.#commit(batch);
        this.#inFlight = null;
      }
    } finally {
      this.#running = null;
    }
  }

  /** Commits reorderable changes while another commit is in flight. */
  async #runParallel(): Promise<void> {
    await this.#delay.wait(CALLERS_MAX);
    if (this.#inFlight === null || this.#isBlocked || this.#reorderable < REORDERABLE_MIN) return;
    const others = this.#queue.filter(({ change }) => !change.reorderable);
    this.#queue = this.#queue.filter(({ change }) => change.reorderable);
    const batch = this.#take(keysOf(this.#inFlight));
    this.#queue = others.concat(this.#queue);
    this.#parallelKeys = keysOf(batch);
    await this.#commit(batch);
    this.#parallelKeys = null;
  }

  /**
   * Takes the longest run of callers that fits into one atomic, without contradictions among them or
   * conflicts with the keys in flight.
   */
  #take(inFlight: CommitKeys | null): Pending[] {
    const batch: Pending[] = [], later: Pending[] = [];
    const load = new Load(this.#mergedChecksMax());
    this.#isBlocked = false;
    let at = 0;
    for (; at < this.#queue.length && batch.length < CALLERS_MAX; at++) {
      const pending = this.#queue[at]!;
      const { change } = pending;
      if (this.#hasLost(change)) {
        this.#waitingBytes -= pending.bytes;
        pending.resolve(null);
        continue;
      }
      const waits = inFlight !== null && conflicts(change, inFlight);
      this.#isBlocked ||= waits;
      if (waits || load.contradicts(change)) {
        later.push(pending);
        continue;
      }
      const fits = load.add(change, pending.bytes, pending.keyBytes);
      if (!fits && batch.length > 0) break;
      batch.push(pending);
      this.#waitingBytes -= pending.bytes;
      if (!fits) {
        at++;
        break;
      }
    }
    this.#queue = at >= this.#queue.length ? later : later.concat(this.#queue.slice(at));
    this.#reorderable = this.#queue.filter(({ change }) => change.reorderable).length;
    return batch;
  }

  /** True when a checked key is known to be newer. An absent key proves nothing: it may have been deleted. */
  #hasLost(change: Change): boolean {
    return change.checks.some(({ keyText, versionstamp }) => {
      const newest = this.#recent.get(keyText);
      return newest !== undefined && versionstamp !== null && newest > versionstamp;
    });
  }

  async #commit(batch: Pending[], maySequence = true): Promise<void> {
    if (batch.length === 0) return;
    const mutations: Mutation[] = [], lines: Line[] = [];
    for (const { change } of batch) {
      for (const mutation of change.mutations) mutations.push(mutation);
      for (const line of change.lines) lines.push(line);
    }
    const log = this.options.log();
    const sequenced = maySequence && lines.length > 0
      ? log.sequence(lines, this.#capacityLeft(batch))
      : null;
    let versionstamp: string | null = null;
    const beganMs = this.options.clock.monotonic();
    try {
      versionstamp = await this.#write(batch, mutations, lines, sequenced);
    } catch (error) {
      sequenced?.settle(isRefusal(error) ? false : null);
      this.options.after(mutations, null);
      if (batch.length > 1 && isRefusal(error)) return await this.#bisect(batch);
      // The engine may have refused the sequencing rather than the caller's change.
      if (sequenced !== null && isRefusal(error)) return await this.#commit(batch, false);
      const reason = isRefusal(error) ? error : outcomeUnknown(error);
      if (reason instanceof StoreUnavailableError) this.options.health.record(reason);
      for (const pending of batch) pending.reject(reason);
      if (!isRefusal(error) && sequenced === null && lines.length > 0) log.waiting(lines, null);
      return;
    }
    this.onCommit(this.options.clock.monotonic() - beganMs);
    this.#remember(mutations, versionstamp);
    this.options.after(mutations, versionstamp);
    if (versionstamp === null) {
      sequenced?.settle(false);
      if (batch.length > 1) return await this.#bisect(batch);
      // The failed check may be the sequencer's: try the caller's change alone.
      if (sequenced !== null) return await this.#commit(batch, false);
      this.options.denied(batch[0]!.change.checks);
    }
    for (const pending of batch) pending.resolve(versionstamp);
    if (versionstamp === null) return;
    this.options.health.record(null);
    if (sequenced !== null) {
      this.#remember(sequenced.mutations, versionstamp);
      sequenced.settle(true);
    } else if (lines.length > 0) log.waiting(lines, versionstamp);
  }

  #mergedChecksMax(): number {
    return this.options.mergedChecksMax ?? this.options.checksMax;
  }

  #capacityLeft(batch: readonly Pending[]): Capacity {
    let checks = this.#mergedChecksMax(), writes = MUTATIONS_MAX, keyBytes = KEY_BYTES_MAX;
    let bytes = ATOMIC_BYTES_MAX * 0.9;
    for (const pending of batch) {
      checks -= pending.change.checks.length;
      writes -= writesOf(pending.change);
      bytes -= pending.bytes;
      keyBytes -= pending.keyBytes;
    }
    return { checks, writes, bytes, keyBytes };
  }

  /** Commits each half, so that one change that cannot be committed does not fail the others. */
  async #bisect(batch: Pending[]): Promise<void> {
    const half = batch.length >> 1;
    await this.#commit(batch.slice(0, half));
    await this.#commit(batch.slice(half));
  }

  async #write(
    batch: readonly Pending[],
    mutations: readonly Mutation[],
    lines: readonly Line[],
    sequenced: InlineSequence | null,
  ): Promise<string | null> {
    const written = sequenced === null ? mutations : [...mutations, ...sequenced.mutations];
    for (let attempt = 1;; attempt++) {
      const op = this.kv.atomic();
      const checked = new Set<string>();
      for (const { change } of batch) {
        for (const { key, keyText, versionstamp } of change.checks) {
          if (checked.has(keyText)) continue;
          checked.add(keyText);
          op.check({ key, versionstamp });
        }
      }
      for (const { key, versionstamp } of sequenced?.checks ?? []) op.check({ key, versionstamp });
      for (const mutation of oneSumEach(written)) {
        if (mutation.kind === "delete") op.delete(mutation.key);
        else if (mutation.kind === "sum") op.sum(mutation.key, mutation.n);
        else if (mutation.kind === "max") op.max(mutation.key, mutation.n);
        else if (mutation.expireIn === undefined) op.set(mutation.key, mutation.value);
        else op.set(mutation.key, mutation.value, { expireIn: mutation.expireIn });
      }
      if (lines.length > 0 && sequenced === null) {
        const key = [...OUTBOX, this.kv.commitVersionstamp()] as unknown as Deno.KvKey;
        op.set(key, encoder.encode(outboxText(lines)));
      }
      for (
        const { key: place, expireIn, texts } of oneValueEach(batch.map(({ change }) => change))
      ) {
        const key = [...place, this.kv.commitVersionstamp()] as unknown as Deno.KvKey;
        const value = encoder.encode(texts.join("\n"));
        if (expireIn === undefined) op.set(key, value);
        else op.set(key, value, { expireIn });
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
    for (const { keyText, fresh } of mutations) if (!fresh) this.#recent.set(keyText, versionstamp);
  }
}

const outcomeUnknown = (cause: unknown) => {
  if (cause instanceof StoreUnavailableError) return cause;
  const why = withoutUsers(cause instanceof Error ? cause.message : String(cause));
  return new StoreUnavailableError(`the outcome of a commit is unknown: ${why}`, { cause });
};

const isLocked = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("database is locked");
