import { setImmediate } from "node:timers";
import { overKv } from "./kv.ts";

/** An engine that knows whether it is at work. */
export interface QuietKv {
  readonly kv: Deno.Kv;
  /** Resolves when no operation is under way and nobody has begun another. */
  quiet(): Promise<void>;
  /** How many commits have begun. */
  readonly commits: number;
}

/** Watches an engine, so that a test can wait for what nobody answers to. */
export function quietKv(engine: Deno.Kv): QuietKv {
  let underWay = 0, begun = 0, commits = 0;
  const watch = async <T>(operation: Promise<T>): Promise<T> => {
    begun++;
    underWay++;
    try {
      return await operation;
    } finally {
      underWay--;
    }
  };
  const kv = overKv(engine, {
    get: (...args) => watch(engine.get(...args)) as never,
    getMany: (...args) => watch(engine.getMany(...args)) as never,
    list: (...args) => {
      const iterator = engine.list(...args);
      const next = iterator.next.bind(iterator);
      iterator.next = () => watch(next());
      return iterator as never;
    },
    atomic: () => {
      const op = engine.atomic();
      const commit = op.commit.bind(op);
      op.commit = () => {
        commits++;
        return watch(commit());
      };
      return op;
    },
  });
  return {
    kv,
    get commits() {
      return commits;
    },
    async quiet() {
      // Whoever continues after an operation begins the next one before the loop turns again.
      for (let seen = -1; seen !== begun || underWay > 0;) {
        seen = begun;
        await turn();
      }
    },
  };
}

/** One turn of the event loop: every microtask has run. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
