/** Shorter texts are read again sooner than they are compared. */
const LONG = 256;

/** A reader that keeps its answer about the last long text: many commands may read one file. */
export function rememberLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly answer: T } | null = null;
  return (text) => {
    if (text.length < LONG) return read(text);
    if (last === null || last.text !== text) last = { text, answer: read(text) };
    return last.answer;
  };
}
