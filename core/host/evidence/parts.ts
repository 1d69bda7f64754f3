import type { ArchiveFile } from "./archive.ts";
import { ReceiptCollector } from "./receipts.ts";

/** The size from which on rows begin a new file: an archive is written with about this much memory. */
const PART_BYTES = 256 * 1024;

/** Rows, one a line, and the receipts in them as files of bounded size. A receipt is in a file after all its rows. */
export async function* inParts(body: AsyncIterable<string>): AsyncGenerator<ArchiveFile> {
  const collector = new ReceiptCollector();
  const rows = new Parts("audit"), receipts = new Parts("receipts");
  const takeReceipts = (found: readonly unknown[]) =>
    receipts.add(found.map((one) => `${JSON.stringify(one)}\n`).join(""));
  for await (const text of body) {
    rows.add(text);
    if (rows.isFull) yield rows.next();
    takeReceipts(collector.take(text));
    if (!receipts.isFull) continue;
    if (!rows.isEmpty) yield rows.next();
    yield receipts.next();
  }
  takeReceipts(collector.end());
  yield rows.next();
  yield receipts.next();
}

/** A long text that becomes several files, each with whole lines. */
class Parts {
  #number = 0;
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  #bytes = 0;

  constructor(private readonly folder: string) {}

  add(text: string): void {
    const piece = new TextEncoder().encode(text);
    this.#pieces.push(piece);
    this.#bytes += piece.length;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  get isFull(): boolean {
    return this.#bytes >= PART_BYTES;
  }

  next(): ArchiveFile {
    const name = `${this.folder}/${String(++this.#number).padStart(6, "0")}.ndjson`;
    const file = { name, pieces: this.#pieces };
    this.#pieces = [];
    this.#bytes = 0;
    return file;
  }
}
