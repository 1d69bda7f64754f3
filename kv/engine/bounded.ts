import type { Cancel, Clock } from "../store/clock.ts";
import { AWAY, isRefusal, StoreUnavailableError, withoutUsers } from "./errors.ts";
import type { StoreHealth } from "./health.ts";
import { SingleCommits } from "./single_commits.ts";

/** How long a caller waits for one call of a database server, in ms: a request that meets an outage ends within 5 s. */
export const CALL_MS = 4_000;
/** While the server does not answer, it is tried again this often, in ms. */
const PROBE_MS = 500;
/**
 * A server that answered other calls this recently, in ms, is not away: its client pauses longer and longer between
 * repetitions of one call.
 */
const RECENT_MS = CALL_MS / 2;
/** The most probes under way. */
const PROBES_MAX = 8;
/** A key that is never set. */
const PROBE: Deno.KvKey = ["~", "probe"];

/**
 * A database server whose calls end in time. Its client repeats a failed call without end, so a call that exceeds its
 * time fails here and may still succeed later. From then on calls fail at once, until a probe or any earlier call
 * succeeds: an outage keeps no caller waiting and piles up few calls for the server's return.
 */
export class BoundedKv {
  #away = false;
  #cancelProbe: Cancel = () => {};
  #probes = 0;
  #closed = false;
  /** When the server last answered. */
  #answeredAtMs = -Infinity;
  readonly #commits: SingleCommits;

  constructor(
    private readonly kv: Deno.Kv,
    private readonly clock: Clock,
    private readonly health: Pick<StoreHealth, "reach">,
  ) {
    this.#commits = new SingleCommits(kv, clock);
  }

  get(...args: Parameters<Deno.Kv["get"]>) {
    return this.#call(() => this.kv.get(...args));
  }

  getMany(...args: Parameters<Deno.Kv["getMany"]>) {
    return this.#call(() => this.kv.getMany(...args));
  }

  set(...args: Parameters<Deno.Kv["set"]>) {
    return this.#call(() => this.kv.set(...args));
  }

  delete(...args: Parameters<Deno.Kv["delete"]>) {
    return this.#call(() => this.kv.delete(...args));
  }

  list(...args: Parameters<Deno.Kv["list"]>) {
    const iterator = this.kv.list(...args);
    const next = iterator.next.bind(iterator);
    iterator.next = () => this.#call(next);
    return iterator;
  }

  atomic() {
    const operation = this.kv.atomic();
    const [check, commit] = [operation.check.bind(operation), operation.commit.bind(operation)];
    let checks = 0;
    operation.check = (...all) => {
      checks += all.length;
      return check(...all);
    };
    operation.commit = () => this.#call(() => this.#commits.commit(operation, commit, checks));
    return operation;
  }

  watch(...args: Parameters<Deno.Kv["watch"]>) {
    return this.kv.watch(...args);
  }

  commitVersionstamp() {
    return this.kv.commitVersionstamp();
  }

  close() {
    this.#closed = true;
    this.#cancelProbe();
    this.kv.close();
  }

  /** @throws {StoreUnavailableError} */
  #call<R>(call: () => Promise<R>): Promise<R> {
    return this.#away ? Promise.reject(new StoreUnavailableError(AWAY)) : this.#send(call);
  }

  #send<R>(call: () => Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(CALL_MS, () => reject(this.#late()));
      call().then(
        (result) => {
          this.#answered();
          resolve(result);
        },
        (error) => reject(isRefusal(error) ? error : failed(error)),
      ).finally(cancel);
    });
  }

  #late(): StoreUnavailableError {
    const why = `the database server did not answer within ${CALL_MS / 1000} s`;
    const isRecent = Math.abs(this.clock.now() - this.#answeredAtMs) < RECENT_MS;
    if (!this.#away && (isRecent || this.#closed)) return new StoreUnavailableError(why);
    if (!this.#away) {
      this.#away = true;
      this.#probeLater();
      this.health.reach(new StoreUnavailableError(why));
    }
    return new StoreUnavailableError(AWAY);
  }

  #probeLater(): void {
    this.#cancelProbe = this.clock.after(PROBE_MS, () => {
      this.#probe();
      this.#probeLater();
    });
  }

  #probe(): void {
    if (this.#probes >= PROBES_MAX) return; // the client repeats those that are under way
    this.#probes++;
    this.kv.get(PROBE).then(() => this.#answered(), () => {}).finally(() => this.#probes--);
  }

  #answered(): void {
    this.#answeredAtMs = this.clock.now();
    if (!this.#away) return;
    this.#away = false;
    this.#cancelProbe();
    this.health.reach(null);
  }
}

function failed(cause: unknown): StoreUnavailableError {
  const why = withoutUsers(cause instanceof Error ? cause.message : String(cause));
  return new StoreUnavailableError(`the database server failed: ${why}`, { cause });
}
