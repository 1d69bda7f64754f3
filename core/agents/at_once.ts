/** How many items are read or written at once, so that their commits share the way to the store. */
const AT_ONCE = 32;

/** Calls `act` for each item, a bounded number of them at once. */
export async function forEach<T>(
  items: readonly T[] | AsyncGenerator<T>,
  act: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = Array.isArray(items) ? items.values() : items;
  const work = async () => {
    for await (const item of rest) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
