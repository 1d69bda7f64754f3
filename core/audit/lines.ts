import { Buffer } from "node:buffer";
import { checkExport, type Verdict, type VerifyOptions } from "./verify.ts";

/** No row is longer: 15 KiB, and in front of it the hashes of what an export leaves out. */
const LINE_BYTES_MAX = 256 * 1024;
const LINE_FEED = 10;

/**
 * Checks an export as it comes, in as little memory as its longest line takes.
 * @throws {RangeError} for what has lines longer than any export's
 */
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
      check.line(bytes.toString("latin1", from, end));
      from = end + 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > LINE_BYTES_MAX) {
      throw new RangeError("this is no export as JSON or NDJSON: a line of it is too long");
    }
  }
  const whole = rest.length === 0;
  if (!whole) check.line(rest.toString("latin1"));
  return check.end(whole);
}
