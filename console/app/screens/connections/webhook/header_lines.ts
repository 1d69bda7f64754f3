/** Headers as lines of text, one `Name: value` each. */
export const linesOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n");

/** The headers of such lines. A line without a colon is a name without a value. */
export function headersOf(lines: string): Record<string, string> {
  const headers = lines.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const colon = line.indexOf(":");
    return colon < 0
      ? [line.trim(), ""]
      : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  return Object.fromEntries(headers);
}
