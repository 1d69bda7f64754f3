import { setKey } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Tx } from "../store/tx.ts";

/** The most bytes of output in one piece, in UTF-8. Its chunks, at most 256, take less than 64 KiB with their names. */
export const PIECE_BYTES_MAX = 16 * 1024;
/** The lifetime of a piece. It is read within milliseconds, or never. */
const EXPIRE_MS = 60_000;
/** The approximate size of a chunk beside its text. */
const CHUNK_BYTES = 32;

/** A piece of a command's output, for an instance that follows it. */
export interface OutputPiece {
  readonly chunks: readonly (readonly [stream: "stdout" | "stderr", data: string])[];
  /** The size of all chunks in UTF-8. */
  readonly bytes: number;
  /** True when more output waits already. */
  readonly more: boolean;
  /** True when output was left out so far. */
  readonly truncated: boolean;
  /** True when the command has ended and all output was sent. */
  readonly ended: boolean;
}

const piecesPrefix = (follow: string) => ["~", "out", follow];

/** Writes a piece that begins at `offset` of the output, for the instance that follows it under this id. */
export function stagePiece(
  tx: Pick<Tx, "stage">,
  follow: string,
  offset: number,
  piece: OutputPiece,
): void {
  const bytes = 2 * piece.bytes + CHUNK_BYTES * piece.chunks.length;
  tx.stage(setKey([...piecesPrefix(follow), offset], piece, bytes, EXPIRE_MS));
}

/** The pieces from an offset on, without a gap. */
export async function* piecesFrom(
  { kv }: Store,
  follow: string,
  from: number,
): AsyncGenerator<OutputPiece> {
  const prefix = piecesPrefix(follow);
  let next = from;
  const all = kv.list<OutputPiece>({ prefix, start: [...prefix, from] });
  for await (const { key, value } of all) {
    if (key.at(-1) !== next) return;
    yield value;
    next += value.bytes;
  }
}
