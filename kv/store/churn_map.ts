/**
 * A map for high churn. Once V8 has promoted a map's table, minor collections never free the values that
 * its older tables held. Each value therefore sits in a box that `delete` empties.
 */
export class ChurnMap<V extends object> {
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
