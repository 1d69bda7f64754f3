/**
 * A map of what comes and goes by the thousand. V8 never frees in a minor collection what a map's earlier
 * tables held, once one of them has become old; so this one holds boxes, and empties them.
 */
export class PassingMap<V extends object> {
  readonly #boxes = new Map<string, { value: V | null }>();

  get size(): number {
    return this.#boxes.size;
  }

  get(key: string): V | undefined {
    return this.#boxes.get(key)?.value ?? undefined;
  }

  set(key: string, value: V): void {
    this.#boxes.set(key, { value });
  }

  delete(key: string): void {
    const box = this.#boxes.get(key);
    if (box === undefined) return;
    box.value = null;
    this.#boxes.delete(key);
  }

  values(): V[] {
    return [...this.#boxes.values()].map(({ value }) => value!);
  }
}
