import { Buffer } from "node:buffer";
import { checkExport, type Verdict, type VerifyOptions } from "./verify.ts";

/** No row is longer: 15 KiB, and in front of it the hashes of what an export leaves out. */
const LINE_BYTES_MAX = 64 * 1024;
const LINE_FEED = 10;

/** Checks an export as it comes, in as little memory as its longest line takes. */
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
    // Of a line that is too long to be a row, its beginning tells as much.
    rest = bytes.subarray(from, from + LINE_BYTES_MAX);
  }
  const whole = rest.length === 0;
  if (!whole) check.line(rest);
  return check.end(whole);
}
