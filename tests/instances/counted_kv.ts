import { overKv } from "../support/kv.ts";

/** How often an engine was called. A list counts once, although a long one takes several round trips. */
export interface Calls {
  reads: number;
  commits: number;
}

/** An engine that counts its calls. */
export function countedKv(engine: Deno.Kv): { readonly kv: Deno.Kv; readonly calls: Calls } {
  const calls: Calls = { reads: 0, commits: 0 };
  const reading = <A extends unknown[], R>(call: (...args: A) => R) => (...args: A): R => {
    calls.reads++;
    return call(...args);
  };
  const kv = overKv(engine, {
    get: reading(engine.get.bind(engine)) as Deno.Kv["get"],
    getMany: reading(engine.getMany.bind(engine)) as Deno.Kv["getMany"],
    list: reading(engine.list.bind(engine)) as Deno.Kv["list"],
    atomic: () => {
      const op = engine.atomic();
      const commit = op.commit.bind(op);
      op.commit = () => {
        calls.commits++;
        return commit();
      };
      return op;
    },
  });
  return { kv, calls };
}
