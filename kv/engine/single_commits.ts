import type { Clock } from "../store/clock.ts";
import { CHECKS_MAX_SHARED } from "./engine_limits.ts";

const MARK_KEY = ["~", "mark"];
/** The lifetime of a mark, and for how long after its last use it is used again. */
const [EXPIRE_MS, REUSE_MS] = [24 * 60 * 60 * 1000, 12 * 60 * 60 * 1000];

/** A key that one commit at a time checks and sets. */
interface Mark {
  readonly key: Deno.KvKey;
  versionstamp: string | null;
  uses: number;
  usedAtMs: number;
}

/**
 * Makes commits take effect once. The client of a database server repeats a commit whose reply was lost: without this,
 * events and sums would be added again, and a commit with checks would fail although it succeeded. Each commit checks
 * and sets a mark, so a repetition fails, and the mark tells it from a commit that another writer prevented.
 */
export class SingleCommits {
  readonly #free: Mark[] = [];
  #marks = 0;
  /** A text that no other process has. */
  #process: Promise<string> | null = null;

  constructor(private readonly kv: Deno.Kv, private readonly clock: Clock) {}

  /** Calls `commit` of an operation that has this many checks. */
  async commit(
    operation: Deno.AtomicOperation,
    commit: Deno.AtomicOperation["commit"],
    checks: number,
  ): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
    const mark = this.#reusable() ?? await this.#newMark();
    const use = ++mark.uses;
    // An operation with all checks that a server takes only learns whether its repetition failed.
    if (checks < CHECKS_MAX_SHARED) {
      operation.check({ key: mark.key, versionstamp: mark.versionstamp });
    }
    operation.set(mark.key, use, { expireIn: EXPIRE_MS });
    // After an error the outcome is unknown, and the mark is not used again.
    const result = await commit();
    const { value, versionstamp } = result.ok
      ? { value: use, versionstamp: result.versionstamp }
      : await this.kv.get(mark.key);
    mark.versionstamp = versionstamp;
    mark.usedAtMs = this.clock.now();
    this.#free.push(mark);
    return value === use ? { ok: true, versionstamp: versionstamp! } : result;
  }

  #reusable(): Mark | null {
    const nowMs = this.clock.now();
    for (;;) {
      const mark = this.#free.pop();
      if (mark === undefined) return null;
      if (Math.abs(nowMs - mark.usedAtMs) < REUSE_MS) return mark;
    }
  }

  async #newMark(): Promise<Mark> {
    const process = await (this.#process ??= this.#nameProcess());
    const key = [...MARK_KEY, process, this.#marks++];
    return { key, versionstamp: null, uses: 0, usedAtMs: 0 };
  }

  /** The versionstamp of a commit of this process is its name. */
  async #nameProcess(): Promise<string> {
    try {
      const { versionstamp } = await this.kv.set(MARK_KEY, true);
      return versionstamp;
    } catch (error) {
      this.#process = null;
      throw error;
    }
  }
}
