import { setImmediate } from "node:timers";
import { MAX_BATCH } from "./frames.ts";

/** What a frame holds besides its items, in bytes. */
const FRAME_OVERHEAD_BYTES = 4 * 1024;

/** Collects the items of one turn of the event loop, in order. */
export interface Batch<Item> {
  /** `bytes` is the largest size of the item in the frame. */
  add(item: Item, bytes: number): void;
  /** Sends the collected items at once. */
  flush(): void;
  /** Removes and returns the items that have not been sent. */
  drain(): Item[];
}

/** Opens a batch that hands at most `MAX_BATCH` items and `maxBytes` at once to `send`. */
export function openBatch<Item>(
  maxBytes: number,
  send: (items: Item[]) => void,
): Batch<Item> {
  let items: Item[] = [];
  let bytesLeft = maxBytes - FRAME_OVERHEAD_BYTES;
  let scheduled = false;

  function drain(): Item[] {
    const drained = items;
    items = [];
    bytesLeft = maxBytes - FRAME_OVERHEAD_BYTES;
    return drained;
  }

  function flush() {
    if (items.length > 0) send(drain());
  }

  return {
    add(item, bytes) {
      if (items.length > 0 && bytes > bytesLeft) flush();
      items.push(item);
      bytesLeft -= bytes;
      if (items.length === MAX_BATCH) flush();
      if (scheduled) return;
      scheduled = true;
      setImmediate(() => {
        scheduled = false;
        flush();
      });
    },
    flush,
    drain,
  };
}

/** The largest size of a text in JSON, in bytes: one control character becomes six. */
export const jsonBytesMax = (text: string): number => 6 * text.length;
