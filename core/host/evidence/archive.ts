import { createHash } from "node:crypto";
import { tarEnd, tarHeader, tarPadding } from "./tar.ts";

/** A file of an archive. */
export interface ArchiveFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A file of an archive with this text. */
export const textFile = (name: string, text: string): ArchiveFile => ({
  name,
  bytes: new TextEncoder().encode(text),
});

/** The last file of an archive, which lists the others. */
export const MANIFEST = "manifest.txt";

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
    const sha256 = createHash("sha256").update(file.bytes).digest("hex");
    lines.push(`file ${sha256} ${file.bytes.length} ${file.name}`);
    yield* blocksOf(file, timeSeconds);
  }
  yield* blocksOf(textFile(MANIFEST, sign(lines)), timeSeconds);
  yield tarEnd();
}

function* blocksOf({ name, bytes }: ArchiveFile, timeSeconds: number) {
  yield tarHeader(name, bytes.length, timeSeconds);
  yield bytes;
  yield tarPadding(bytes.length);
}
