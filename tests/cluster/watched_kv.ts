import { overKv, shared } from "../support/kv.ts";

/** Encodes a key, so that equal keys are equal texts. */
const textOf = (key: Deno.KvKey) => JSON.stringify(key.map(String));

interface Watcher {
  readonly texts: ReadonlySet<string>;
  /** Reads the keys and passes them on. */
  notify(): Promise<void>;
}

/**
 * One engine for several stores, whose watches fire before a commit is answered: a test that waits until the engine
 * is quiet has waited for the watches too. Closing a store leaves the engine open.
 */
export function watchedKv(engine: Deno.Kv): Deno.Kv {
  const watchers = new Set<Watcher>();
  const watch = ((keys: readonly Deno.KvKey[]) => {
    let watcher: Watcher;
    return new ReadableStream<Deno.KvEntryMaybe<unknown>[]>({
      async start(controller) {
        const notify = async () => controller.enqueue(await engine.getMany([...keys]));
        watchers.add(watcher = { texts: new Set(keys.map(textOf)), notify });
        await notify();
      },
      cancel: () => void watchers.delete(watcher),
    });
  }) as Deno.Kv["watch"];
  const atomic = () => {
    const op = engine.atomic();
    const [set, commit] = [op.set.bind(op), op.commit.bind(op)];
    const texts: string[] = [];
    op.set = (key, ...rest) => {
      texts.push(textOf(key));
      return set(key, ...rest);
    };
    op.commit = async () => {
      const result = await commit();
      const due = [...watchers].filter((watcher) => texts.some((text) => watcher.texts.has(text)));
      if (result.ok) await Promise.all(due.map((watcher) => watcher.notify()));
      return result;
    };
    return op;
  };
  return overKv(shared(engine), { atomic, watch });
}
