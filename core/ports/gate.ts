/** Runs a task when there is room for it. */
export type Gate = <T>(task: () => Promise<T>) => Promise<T>;

/**
 * Lets at most `running` tasks run at once and at most `waiting` more wait, first come first
 * served. `refuse` makes the error that everything beyond is rejected with.
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
