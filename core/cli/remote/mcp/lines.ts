const LINE_FEED = 0x0a;
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The lines of a stream of bytes, without those that are empty. A line of more than `bytesMax` bytes is null: it is
 * skipped, not kept. So is one that is not UTF-8.
 */
export async function* linesOf(
  input: ReadableStream<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<string | null> {
  let kept: Uint8Array[] = [], length = 0;
  const take = (part: Uint8Array) => {
    length += part.length;
    if (length > bytesMax) kept = [];
    else kept.push(part);
  };
  const end = (): string | null => {
    const line = length > bytesMax ? null : textOf(kept, length);
    [kept, length] = [[], 0];
    return line;
  };
  for await (const chunk of input) {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      take(chunk.subarray(from, at));
      from = at + 1;
      const line = end();
      if (line !== "") yield line;
    }
    take(chunk.slice(from));
  }
  const last = end();
  if (last !== "") yield last;
}

/** The text of these bytes; null when they are not UTF-8. */
function textOf(parts: readonly Uint8Array[], length: number): string | null {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  try {
    return decoder.decode(bytes).trim();
  } catch {
    return null;
  }
}
