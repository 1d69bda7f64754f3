/** What the playground keeps in its address. The command is in the fragment, the rest in the query. */

/** The command in the present address. */
export function commandInHash(hash: string = location.hash): string {
  try {
    return hash.startsWith("#c=") ? decodeURIComponent(hash.slice("#c=".length)) : "";
  } catch {
    return "";
  }
}

/** The fragment that holds a command. */
export const hashOf = (command: string): string =>
  command === "" ? "" : `#c=${encodeURIComponent(command.toWellFormed())}`;

/** Labels as people type them: `env=prod, tier=web`. */
export function labelsOf(text: string): Record<string, string> {
  const pairs = text.split(",").map((pair) => pair.trim()).filter((pair) => pair.includes("="));
  return Object.fromEntries(pairs.map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  }));
}

/** The text that `labelsOf` reads. */
export const textOfLabels = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(", ");
