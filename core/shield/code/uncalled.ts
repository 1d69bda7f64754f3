/** A function on the first level, whose body stands on lines of its own. */
const DEFINITION = /^def ([A-Za-z_]\w*)\(.*\)(?: *->[^:]*)?:\s*(?:#.*)?$/;

/** By these, code may call what it does not name, or lines may be parts of a longer text. */
const REACHES =
  /"""|'''|\\\n|\b(?:globals|locals|vars|eval|exec|getattr|__main__|__import__|dir|inspect|compile)\b/;

/** A longer line is kept, with what follows it. */
const LINE_MAX = 300;

/** Python without the bodies of functions that it defines and never names again: they do not run. */
export function withoutUncalled(code: string): string {
  if (!code.includes("def ") || REACHES.test(code)) return code;
  const counts = new Map<string, number>();
  for (const word of code.match(/\w+/g) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
  const kept: string[] = [];
  let isInside = false;
  let before = "";
  for (const line of code.split("\n")) {
    const isIndented = line.trim() === "" || line.startsWith(" ") || line.startsWith("\t");
    if (isInside && isIndented) continue;
    const name = before.startsWith("@") || line.length > LINE_MAX
      ? undefined
      : DEFINITION.exec(line)?.[1];
    isInside = name !== undefined && counts.get(name) === 1;
    kept.push(line);
    before = line;
  }
  return kept.join("\n");
}
