import { setKey } from "../store/change.ts";
import type { Store } from "../store/store.ts";
import type { Tx } from "../store/tx.ts";

/** The most characters of one piece, which take up to 2 bytes each. */
export const PIECE_CHARS_MAX = 16 * 1024;
/** The lifetime of a piece. It is read within milliseconds, or never. */
const EXPIRE_MS = 60_000;

const piecesPrefix = (follow: string) => ["~", "out", follow];

/** Writes a piece of a command's output, for the instance that follows it under this id. */
export function stagePiece(
  tx: Pick<Tx, "stage">,
  follow: string,
  n: number,
  text: string,
): void {
  tx.stage(setKey([...piecesPrefix(follow), n], text, 2 * text.length, EXPIRE_MS));
}

/** The pieces from number `from` on, without a gap. */
export async function* piecesFrom(
  { kv }: Store,
  follow: string,
  from: number,
): AsyncGenerator<string> {
  const prefix = piecesPrefix(follow);
  let next = from;
  for await (const { key, value } of kv.list<string>({ prefix, start: [...prefix, from] })) {
    if (key.at(-1) !== next++) return;
    yield value;
  }
}
