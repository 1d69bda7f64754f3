import type { Receiver } from "./receiver.ts";

export interface Timer {
  readonly atMs: number;
  readonly receiver: Receiver;
}

/** A binary heap of timers, the earliest first. */
export class TimerHeap {
  readonly #heap: Timer[] = [];

  /** When the earliest timer fires; Infinity for none. */
  get nextMs(): number {
    return this.#heap[0]?.atMs ?? Infinity;
  }

  push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (heap[up]!.atMs <= timer.atMs) break;
      heap[at] = heap[up]!;
      at = up;
    }
    heap[at] = timer;
  }

  /** Removes the earliest timer. The heap must not be empty. */
  pop(): Timer {
    const heap = this.#heap;
    const first = heap[0]!, last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && heap[down + 1]!.atMs < heap[down]!.atMs) down++;
      if (heap[down]!.atMs >= last.atMs) break;
      heap[at] = heap[down]!;
      at = down;
    }
    heap[at] = last;
    return first;
  }
}
