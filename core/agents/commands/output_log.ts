import { Buffer } from "node:buffer";
import type { Output } from "./output.ts";

/** The two streams of a command, in the order in which `turns` counts them. */
const STREAMS = ["stdout", "stderr"] as const;
export type StreamName = typeof STREAMS[number];

/** A part of a command's output. */
export interface OutputChunk {
  readonly stream: StreamName;
  /** The bytes of both streams that came before it. */
  readonly offset: number;
  readonly data: string;
}

interface Kept {
  readonly stream: StreamName;
  readonly offset: number;
  bytes: number;
  data: string;
}

/** Small chunks of one stream in a row are kept as one, up to this size. */
const MERGED_BYTES_MAX = 4 * 1024;
/** A recorded output is cut into chunks of this size. */
const CHUNK_BYTES = 16 * 1024;
/** The most chunks that one read returns. */
const READ_CHUNKS_MAX = 256;

/** The output of a command in the order in which it came. A byte keeps its offset for good. */
export class OutputLog {
  readonly #chunks: Kept[] = [];
  #bytes = 0;
  #listeners: Set<() => void> | null = null;

  /** The log of a recorded output. */
  static of({ stdout, stderr, turns = [] }: Output): OutputLog {
    const log = new OutputLog();
    const bytes = [Buffer.from(stdout), Buffer.from(stderr)] as const;
    const taken: [number, number] = [0, 0];
    const sizes = turns.length > 0 ? turns : [bytes[0].length, bytes[1].length];
    sizes.forEach((size, turn) => {
      const of = turn % 2 as 0 | 1;
      const end = taken[of] + size;
      while (taken[of] < end) {
        const to = end - taken[of] > CHUNK_BYTES
          ? characterAt(bytes[of], taken[of] + CHUNK_BYTES)
          : end;
        log.append(STREAMS[of], bytes[of].toString("utf8", taken[of], to), to - taken[of]);
        taken[of] = to;
      }
    });
    return log;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many chunks are kept. */
  get size(): number {
    return this.#chunks.length;
  }

  /** Adds well-formed text of `bytes` bytes of UTF-8. */
  append(stream: StreamName, data: string, bytes: number): void {
    const last = this.#chunks.at(-1);
    if (last?.stream === stream && last.bytes + bytes <= MERGED_BYTES_MAX) {
      last.data += data;
      last.bytes += bytes;
    } else this.#chunks.push({ stream, offset: this.#bytes, bytes, data });
    this.#bytes += bytes;
    this.#listeners?.forEach((listener) => listener());
  }

  /**
   * The output from an offset on: at most `bytesMax` bytes, but at least one character. It begins with the character
   * that the offset lies in.
   */
  read(from: number, bytesMax: number): OutputChunk[] {
    const found: OutputChunk[] = [];
    let left = bytesMax;
    for (
      let at = this.#indexAt(from);
      at < this.#chunks.length && left > 0 && found.length < READ_CHUNKS_MAX;
      at++
    ) {
      const { stream, offset, bytes, data } = this.#chunks[at]!;
      const skipped = Math.max(0, from - offset);
      if (skipped === 0 && bytes <= left) {
        found.push({ stream, offset, data });
        left -= bytes;
        continue;
      }
      const encoded = Buffer.from(data);
      const start = characterAt(encoded, skipped);
      let end = characterAt(encoded, Math.min(bytes, start + left));
      if (end <= start) {
        if (found.length > 0) break;
        end = characterAfter(encoded, start);
      }
      found.push({ stream, offset: offset + start, data: encoded.toString("utf8", start, end) });
      left -= end - start;
      if (end < bytes) break;
    }
    return found;
  }

  /** The whole text of one stream. */
  text(of: StreamName): string {
    let text = "";
    for (const { stream, data } of this.#chunks) if (stream === of) text += data;
    return text;
  }

  /** Bytes of stdout and stderr by turns, stdout first; undefined when all of stdout came first. */
  turns(): number[] | undefined {
    if (this.#chunks.length < 2) return undefined;
    const turns: number[] = [];
    for (const { stream, bytes } of this.#chunks) {
      const of = STREAMS.indexOf(stream);
      if (turns.length % 2 === of) turns.push(bytes);
      else if (turns.length === 0) turns.push(0, bytes);
      else turns[turns.length - 1]! += bytes;
    }
    return turns.length > 2 ? turns : undefined;
  }

  /** Calls `listener` after each addition; returns how to stop. */
  onGrowth(listener: () => void): () => void {
    const listeners = this.#listeners ??= new Set();
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** The index of the first chunk that ends after an offset. */
  #indexAt(from: number): number {
    let low = 0, high = this.#chunks.length;
    while (low < high) {
      const middle = low + high >> 1;
      const { offset, bytes } = this.#chunks[middle]!;
      if (offset + bytes > from) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** The offset after some chunks that were read from an offset. */
export function offsetAfter(from: number, chunks: readonly OutputChunk[]): number {
  const last = chunks.at(-1);
  return last === undefined ? from : last.offset + Buffer.byteLength(last.data);
}

const continues = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** The start of the character that a byte belongs to. */
function characterAt(bytes: Uint8Array, at: number): number {
  while (at > 0 && continues(bytes[at])) at--;
  return at;
}

function characterAfter(bytes: Uint8Array, at: number): number {
  do at++; while (continues(bytes[at]));
  return at;
}
