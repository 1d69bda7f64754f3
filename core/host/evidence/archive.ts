import { createHash } from "node:crypto";
import { tarEnd, tarHeader, tarPadding } from "./tar.ts";

/** A file of an archive. */
export interface ArchiveFile {
  readonly name: string;
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

/** A file of an archive with this text. */
export const textFile = (name: string, text: string): ArchiveFile => ({
  name,
  pieces: [new TextEncoder().encode(text)],
});

/** The last file of an archive, which lists the others. */
const MANIFEST = "manifest.txt";

/**
 * The bytes of an archive, one file at a time. `sign` gets one line for each file, `file <sha256> <bytes> <name>`, and
 * returns the manifest, which becomes the last file.
 */
export async function* writeArchive(
  files: AsyncIterable<ArchiveFile>,
  timeSeconds: number,
  sign: (lines: readonly string[]) => string,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const lines: string[] = [];
  for await (const file of files) {
    const hash = createHash("sha256");
    for (const piece of file.pieces) hash.update(piece);
    lines.push(`file ${hash.digest("hex")} ${sizeOf(file)} ${file.name}`);
    yield* blocksOf(file, timeSeconds);
  }
  yield* blocksOf(textFile(MANIFEST, sign(lines)), timeSeconds);
  yield tarEnd();
}

const sizeOf = ({ pieces }: ArchiveFile) => pieces.reduce((sum, { length }) => sum + length, 0);

function* blocksOf(file: ArchiveFile, timeSeconds: number) {
  const size = sizeOf(file);
  yield tarHeader(file.name, size, timeSeconds);
  yield* file.pieces;
  yield tarPadding(size);
}
