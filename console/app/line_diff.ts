/** A row of two texts side by side: what a line was, and what it is. */
export interface DiffRow {
  readonly kind: "same" | "changed" | "skipped";
  /** Null where a line was added; for skipped rows, how many lines are the same. */
  readonly before: string | null;
  /** Null where a line was removed. */
  readonly after: string | null;
}

/** The same lines that are shown around a change. */
const CONTEXT = 3;
/** The most comparisons of lines; larger texts show as replaced. */
const COMPARED_MAX = 4_000_000;

/** The lines of two texts side by side; long runs of the same lines are skipped. */
export function diffLines(before: string, after: string): readonly DiffRow[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0, end = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  while (
    end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)
  ) end++;
  const rows = [
    ...a.slice(0, start).map(same),
    ...paired(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
  return shortened(rows);
}

const same = (line: string): DiffRow => ({ kind: "same", before: line, after: line });

/** Pairs each run of removed lines with the run of added lines that replaces it. */
function paired(a: readonly string[], b: readonly string[]): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: string[] = [], added: string[] = [];
  const flush = () => {
    for (let n = 0; n < Math.max(removed.length, added.length); n++) {
      rows.push({ kind: "changed", before: removed[n] ?? null, after: added[n] ?? null });
    }
    [removed, added] = [[], []];
  };
  let at = 0, to = 0;
  for (const [i, j] of commonLines(a, b)) {
    removed.push(...a.slice(at, i));
    added.push(...b.slice(to, j));
    flush();
    rows.push(same(a[i]!));
    [at, to] = [i + 1, j + 1];
  }
  removed.push(...a.slice(at));
  added.push(...b.slice(to));
  flush();
  return rows;
}

/** The positions of a longest common subsequence of lines. */
function commonLines(a: readonly string[], b: readonly string[]): [number, number][] {
  const width = b.length + 1;
  if (a.length * width > COMPARED_MAX) return [];
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j]
        ? lengths[(i + 1) * width + j + 1]! + 1
        : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const found: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) found.push([i++, j++]);
    else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i++;
    else j++;
  }
  return found;
}

/** Replaces the middle of long runs of the same lines. */
function shortened(rows: readonly DiffRow[]): readonly DiffRow[] {
  const shown: DiffRow[] = [];
  for (let at = 0; at < rows.length;) {
    let end = at;
    while (end < rows.length && rows[end]!.kind === "same") end++;
    const head = at === 0 ? 0 : CONTEXT, tail = end === rows.length ? 0 : CONTEXT;
    const hidden = end - at - head - tail;
    if (hidden > 1) {
      shown.push(...rows.slice(at, at + head));
      shown.push({ kind: "skipped", before: `${hidden}`, after: null });
      shown.push(...rows.slice(end - tail, end));
    } else shown.push(...rows.slice(at, end));
    if (end < rows.length) shown.push(rows[end]!);
    at = end + 1;
  }
  return shown;
}
