import { Fault } from "../fault/fault.ts";

/** Concurrent fetches that callers wait for, over all organizations and of one: each holds a repository in memory. */
const ALL_MAX = 8;
const OF_ONE_MAX = 3;

/** Limits the fetches that callers wait for in this process. */
export class AwaitedFetches {
  /** The organization of each fetch under way. */
  readonly #running: string[] = [];

  /** Runs a fetch. @throws {Fault} UNAVAILABLE when too many are under way */
  async run<T>({ org }: { readonly org: string }, task: () => Promise<T>): Promise<T> {
    const own = this.#running.filter((each) => each === org).length;
    if (own >= OF_ONE_MAX || this.#running.length >= ALL_MAX) {
      throw new Fault("UNAVAILABLE", "Too many repositories are being fetched. Apply again later.");
    }
    this.#running.push(org);
    try {
      return await task();
    } finally {
      this.#running.splice(this.#running.indexOf(org), 1);
    }
  }
}
