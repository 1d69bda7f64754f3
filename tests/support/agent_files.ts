/** What an agent keeps of the relay's audit log, in memory. */
export function filesOf(kept = new Map<string, string>()) {
  return {
    kept,
    read: (path: string) => kept.get(path) ?? null,
    write: (path: string, text: string) => void kept.set(path, text),
  };
}
