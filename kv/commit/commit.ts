import { type Change, type Check, type Mutation, writesOf } from "../store/change.ts";
import type { Clock } from "../store/clock.ts";
import { StoreUnavailableError, withoutUsers } from "../store/errors.ts";
import { type CommitKeys, conflicts, keysOf } from "./commit_keys.ts";
import { CommitDelay } from "./delay.ts";
import { type Line, outboxText } from "../log/line.ts";
import { oneSumEach, oneValueEach } from "../store/merge.ts";
import type { Numbered, Numbering, Room } from "../log/numbering.ts";
import { RecentMap } from "../store/recent.ts";
import { ATOMIC_BYTES_MAX, KEY_BYTES_MAX, MUTATIONS_MAX } from "../store/limits.ts";
import { KEY_OVERHEAD_BYTES, Load } from "../store/load.ts";
import type { Trouble } from "../store/trouble.ts";

/** The versionstamp of the commit, or null when a check failed and the caller should look again. */
type Outcome = string | null;

interface Pending {
  readonly change: Change;
  readonly bytes: number;
  readonly keyBytes: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

export const OUTBOX: Deno.KvKey = ["~", "outbox"];
/** More callers than this wait for the next commit, so that requests are served while this one is written. */
const CALLERS_MAX = 64;
/** So many that stand apart are worth a commit beside the one under way. */
const APART_MIN = 32;
const QUEUE_MAX = 20_000;
/** What may wait in memory for its commit; a caller beyond that is told to come again. */
const QUEUE_BYTES_MAX = 128 * 1024 * 1024;
const RECENT_MAX = 4_096;
/** Two handles on one file may collide; the engine then says so and nothing was written. */
const LOCKED_RETRIES_MAX = 50;
const encoder = new TextEncoder();

/**
 * Group commit: while one atomic is under way callers queue up, and all that fit go into the next one.
 * Each caller is answered after the commit that holds its change. Where many stand apart, they need not
 * wait for that one: the engine has the next at hand when it has written it.
 */
export class Committer {
  #queue: Pending[] = [];
  readonly #delay = new CommitDelay(() => this.#queue.length);
  #waitingBytes = 0;
  #running: Promise<void> | null = null;
  /** Whose commit is under way. */
  #underWay: readonly Pending[] | null = null;
  /** The commit beside it, of those that stand apart. */
  #beside: Promise<void> | null = null;
  #parallelKeys: CommitKeys | null = null;
  /** How many of those wait. */
  #apart = 0;
  /** True while one waits for a key that is under way: nothing more goes beside, or it might for ever. */
  #isOwed = false;
  #closed = false;
  /** Newest versionstamps of keys written here: a change that read an older one has lost already. */
  readonly #recent = new RecentMap<string>(RECENT_MAX);

  constructor(
    private readonly kv: Deno.Kv,
    private readonly options: {
      readonly clock: Clock;
      readonly checksMax: number;
      /** Called with what an atomic has written, or may have when the versionstamp is null. */
      readonly after: (mutations: readonly Mutation[], versionstamp: string | null) => void;
      readonly log: () => Numbering;
      /** Called when the engine denies what one change read: memory may be what misled it. */
      readonly denied: (checks: readonly Check[]) => void;
      /** Hears of each commit whether the engine made it. */
      readonly trouble: Pick<Trouble, "met">;
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
        `a change of ${change.checks.length} checks and ${writesOf(change)} writes: ` +
          `this store takes ${checksMax} and ${MUTATIONS_MAX}`,
      );
    }
    let bytes = change.lineBytes, keyBytes = 0;
    for (const line of change.coalesced) bytes += line.bytes;
    for (const mutation of change.mutations) {
      bytes += mutation.kind === "set" ? mutation.bytes : 64;
      if (mutation.kind !== "delete") keyBytes += mutation.slot.length + KEY_OVERHEAD_BYTES;
    }
    if (this.#queue.length >= QUEUE_MAX || this.#waitingBytes + bytes > QUEUE_BYTES_MAX) {
      throw new StoreUnavailableError("too many changes are waiting");
    }
    this.#waitingBytes += bytes;
    this.#queue.push({ change, bytes, keyBytes, resolve, reject });
    if (!change.apart || ++this.#apart < APART_MIN || this.#underWay === null) return;
    this.#beside ??= this.#runBeside().finally(() => this.#beside = null);
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
    try {
      while (this.#queue.length > 0 || this.#beside !== null) {
        await this.#delay.wait();
        const batch = this.#take(this.#parallelKeys);
        // Either nobody waits, or all of them for what is under way beside.
        if (batch.length === 0) await this.#beside;
        else this.#delay.committed(batch.length);
        this.#underWay = batch;
        await this.#commit(batch);
        this.#underWay = null;
      }
    } finally {
      this.#running = null;
    }
  }

  /** Commits what stands apart while another commit is under way. */
  async #runBeside(): Promise<void> {
    await this.#delay.wait(CALLERS_MAX);
    if (this.#underWay === null || this.#isOwed || this.#apart < APART_MIN) return;
    const others = this.#queue.filter(({ change }) => !change.apart);
    this.#queue = this.#queue.filter(({ change }) => change.apart);
    const batch = this.#take(keysOf(this.#underWay));
    this.#queue = others.concat(this.#queue);
    this.#parallelKeys = keysOf(batch);
    await this.#commit(batch);
    this.#parallelKeys = null;
  }

  /**
   * The longest run of callers that fits into one atomic, does not contradict itself and does not meet
   * what is under way.
   */
  #take(inFlight: CommitKeys | null): Pending[] {
    const batch: Pending[] = [], later: Pending[] = [];
    const load = new Load(this.options.checksMax);
    this.#isOwed = false;
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
      this.#isOwed ||= waits;
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
    this.#apart = this.#queue.filter(({ change }) => change.apart).length;
    return batch;
  }

  /** Of a key that was not there nothing is known: what was written here may be gone by now. */
  #hasLost(change: Change): boolean {
    return change.checks.some(({ slot, versionstamp }) => {
      const newest = this.#recent.get(slot);
      return newest !== undefined && versionstamp !== null && newest > versionstamp;
    });
  }

  async #commit(batch: Pending[], mayNumber = true): Promise<void> {
    if (batch.length === 0) return;
    const mutations: Mutation[] = [], lines: Line[] = [];
    for (const { change } of batch) {
      for (const mutation of change.mutations) mutations.push(mutation);
      for (const line of change.lines) lines.push(line);
    }
    const log = this.options.log();
    const numbered = mayNumber && lines.length > 0 ? log.number(lines, this.#roomIn(batch)) : null;
    let versionstamp: string | null = null;
    try {
      versionstamp = await this.#write(batch, mutations, lines, numbered);
    } catch (error) {
      numbered?.settle(isRefusal(error) ? false : null);
      this.options.after(mutations, null);
      if (batch.length > 1 && isRefusal(error)) return await this.#halves(batch);
      // What was refused may be the numbering and not the caller's own change.
      if (numbered !== null && isRefusal(error)) return await this.#commit(batch, false);
      const reason = isRefusal(error) ? error : outcomeUnknown(error);
      if (reason instanceof StoreUnavailableError) this.options.trouble.met(reason);
      for (const pending of batch) pending.reject(reason);
      if (!isRefusal(error) && numbered === null && lines.length > 0) log.waiting(lines, null);
      return;
    }
    this.#remember(mutations, versionstamp);
    this.options.after(mutations, versionstamp);
    if (versionstamp === null) {
      numbered?.settle(false);
      if (batch.length > 1) return await this.#halves(batch);
      // Whose check it was is known when the caller's stand alone.
      if (numbered !== null) return await this.#commit(batch, false);
      this.options.denied(batch[0]!.change.checks);
    }
    for (const pending of batch) pending.resolve(versionstamp);
    if (versionstamp === null) return;
    this.options.trouble.met(null);
    if (numbered !== null) {
      this.#remember(numbered.mutations, versionstamp);
      numbered.settle(true);
    } else if (lines.length > 0) log.waiting(lines, versionstamp);
  }

  #roomIn(batch: readonly Pending[]): Room {
    let checks = this.options.checksMax, writes = MUTATIONS_MAX, keyBytes = KEY_BYTES_MAX;
    let bytes = ATOMIC_BYTES_MAX * 0.9;
    for (const pending of batch) {
      checks -= pending.change.checks.length;
      writes -= writesOf(pending.change);
      bytes -= pending.bytes;
      keyBytes -= pending.keyBytes;
    }
    return { checks, writes, bytes, keyBytes };
  }

  /** One change that cannot be committed must not take its neighbours down. */
  async #halves(batch: Pending[]): Promise<void> {
    const half = batch.length >> 1;
    await this.#commit(batch.slice(0, half));
    await this.#commit(batch.slice(half));
  }

  async #write(
    batch: readonly Pending[],
    mutations: readonly Mutation[],
    lines: readonly Line[],
    numbered: Numbered | null,
  ): Promise<string | null> {
    const written = numbered === null ? mutations : [...mutations, ...numbered.mutations];
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
      for (const { key, versionstamp } of numbered?.checks ?? []) op.check({ key, versionstamp });
      for (const mutation of oneSumEach(written)) {
        if (mutation.kind === "delete") op.delete(mutation.key);
        else if (mutation.kind === "sum") op.sum(mutation.key, mutation.n);
        else if (mutation.kind === "max") op.max(mutation.key, mutation.n);
        else if (mutation.expireIn === undefined) op.set(mutation.key, mutation.value);
        else op.set(mutation.key, mutation.value, { expireIn: mutation.expireIn });
      }
      if (lines.length > 0 && numbered === null) {
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
    for (const { slot, fresh } of mutations) if (!fresh) this.#recent.set(slot, versionstamp);
  }
}

/**
 * What the engine says before it writes anything: beyond a limit, not serialisable, not a key, not a
 * counter. Failures of its disk and network are TypeErrors too, and of those nothing is known.
 */
const REFUSALS = /\(max |could not be cloned|key cannot be empty|^expected |non-U64|Delay /;

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && (error.name === "DataCloneError" || REFUSALS.test(error.message));

const outcomeUnknown = (cause: unknown) => {
  const why = withoutUsers(cause instanceof Error ? cause.message : String(cause));
  return new StoreUnavailableError(`the outcome of a commit is unknown: ${why}`, { cause });
};

const isLocked = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("database is locked");
