import { setImmediate } from "node:timers";
import { overKv } from "./kv.ts";

/** A commit waits up to four turns of the event loop for company. */
const QUIET_TURNS = 5;

/** The calls of Web Crypto, which other threads do. */
const ciphers = { begun: 0, underWay: 0 };

const subtle = crypto.subtle as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
for (
  const name of [
    "decrypt",
    "deriveBits",
    "digest",
    "encrypt",
    "exportKey",
    "generateKey",
    "importKey",
    "sign",
    "verify",
  ]
) {
  const real = subtle[name]!.bind(subtle);
  subtle[name] = (...args) => {
    ciphers.begun++;
    ciphers.underWay++;
    return real(...args).finally(() => ciphers.underWay--);
  };
}

/** An engine that knows whether it is at work. */
export interface QuietKv {
  readonly kv: Deno.Kv;
  /** Resolves when no operation is under way, of Web Crypto neither, and none begins. */
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
      // What continues after an operation begins the next one before the loop turns again.
      for (let seen = -1, turns = 0; turns < QUIET_TURNS; turns++) {
        const now = begun + ciphers.begun;
        if (now !== seen || underWay + ciphers.underWay > 0) turns = 0;
        seen = now;
        await turn();
      }
    },
  };
}

/** One turn of the event loop: every microtask has run. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
