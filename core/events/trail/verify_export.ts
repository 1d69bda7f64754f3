import { Buffer } from "node:buffer";
import { checkExport, type Verdict, type VerifyOptions } from "./verify.ts";

/** Exceeds the longest row: 15 KiB, preceded by the hashes of omitted rows. */
const LINE_BYTES_MAX = 64 * 1024;
const LINE_FEED = 10;

/** Verifies an export as it arrives, with the memory of its longest line. */
export async function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  options: VerifyOptions,
): Promise<Verdict> {
  const check = checkExport(options);
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, from)) {
      check.line(bytes.subarray(from, end));
      from = end + 1;
    }
    // The start of an overlong line is enough to see that it is no row.
    rest = bytes.subarray(from, from + LINE_BYTES_MAX);
  }
  const whole = rest.length === 0;
  if (!whole) check.line(rest);
  return check.end(whole);
}
