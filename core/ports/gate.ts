/** Runs a task as soon as the limit on concurrent tasks allows. */
export type Gate = <T>(task: () => Promise<T>) => Promise<T>;

/**
 * Runs at most `running` tasks at once; at most `waiting` more wait, first come first served. Further tasks are
 * rejected with the error that `refuse` makes.
 */
export function makeGate(
  { running, waiting, refuse }: { running: number; waiting: number; refuse: () => Error },
): Gate {
  const queue: (() => void)[] = [];
  let free = running;
  return async (task) => {
    if (free > 0) free--;
    else if (queue.length < waiting) await new Promise<void>((enter) => queue.push(enter));
    else throw refuse();
    try {
      return await task();
    } finally {
      const next = queue.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
