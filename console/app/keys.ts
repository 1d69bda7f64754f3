/** Keys of the whole console. A screen adds its own while it is shown. */
export interface Key {
  /** The key, such as `j` or `Ctrl-K`. */
  readonly key: string;
  readonly about: string;
  readonly run: () => void;
}

const keys = new Map<string, Key[]>();

/** Adds keys; returns how to remove them. The newest use of a key counts. */
export function addKeys(added: readonly Key[]): () => void {
  for (const key of added) keys.set(key.key, [...keys.get(key.key) ?? [], key]);
  return () => {
    for (const key of added) {
      keys.set(key.key, keys.get(key.key)!.filter((other) => other !== key));
    }
  };
}

/** The keys that count now, for the help. */
export const keysNow = (): readonly Key[] =>
  [...keys.values()].map((uses) => uses.at(-1)).filter((key) => key !== undefined);

const nameOf = ({ ctrlKey, metaKey, key }: KeyboardEvent): string =>
  ctrlKey || metaKey ? `Ctrl-${key.toUpperCase()}` : key;

/** Listens for keys. Single keys do nothing while somebody types. */
export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.altKey || event.isComposing) return;
    // With the shift key too, it is one of the browser's.
    if (event.shiftKey && (event.ctrlKey || event.metaKey)) return;
    const name = nameOf(event);
    const used = keys.get(name)?.at(-1);
    if (used === undefined || !name.startsWith("Ctrl-") && isTyping(event)) return;
    event.preventDefault();
    used.run();
  });
}

function isTyping({ target, key }: KeyboardEvent): boolean {
  const element = target as Element;
  if (element.closest("dialog") !== null && key !== "?") return true;
  if (element.matches("input, textarea, select, [contenteditable]")) return true;
  // Enter and the space bar press the focused button or link.
  return (key === "Enter" || key === " ") && element.matches("a, button, summary, [role=button]");
}
