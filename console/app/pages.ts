import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { space } from "./space.ts";
import { NEVER, oneAtATime, onStale, type Stale } from "./data.ts";

/** A page of a list. */
export interface Page<T> {
  readonly rows: readonly T[];
  /** What the next page begins after; null at the end. */
  readonly next: string | null;
}

/** A list that is fetched page by page. */
export interface Pages<T> {
  /** The rows so far; null before the first page. */
  readonly rows: readonly T[] | null;
  readonly error: unknown;
  /** True when there are rows after those that are loaded. */
  readonly hasMore: boolean;
  /** Fetches the visible rows again. */
  readonly again: () => void;
  /** Says which rows are visible. Missing and outdated pages of these rows are fetched. */
  readonly see: (first: number, last: number) => void;
}

interface Loaded<T> extends Page<T> {
  readonly from: string | null;
  readonly isStale: boolean;
}

/** Up to this page, a change fetches the list again from its start, so that new rows appear. */
const FRESH_PAGES = 3;

/**
 * A list of the API. A change of the named resources fetches what is visible again. Further down, pages keep their
 * start, so that nothing moves under the viewer; at the top, new rows appear.
 */
export function usePages<T>(
  load: (from: string | null, signal: AbortSignal) => Promise<Page<T>>,
  dependencies: readonly unknown[],
  stale: Stale = NEVER,
): Pages<T> {
  const [state, setState] = useState<{ pages: readonly Loaded<T>[] | null; error: unknown }>(EMPTY);
  const latest = useRef(load);
  latest.current = load;
  const list = useRef({
    pages: [] as readonly Loaded<T>[],
    first: 0,
    last: 0,
    /** The number of changes heard of. */
    changes: 0,
    refresh: () => {},
  });
  useEffect(() => {
    const abort = new AbortController();
    const now = list.current;
    const fetchPage = async (from: string | null): Promise<Loaded<T>> => {
      const { changes } = now;
      const page = await latest.current(from, abort.signal);
      return { from, ...page, isStale: now.changes !== changes };
    };
    const show = (pages: readonly Loaded<T>[]) => {
      if (abort.signal.aborted) return;
      now.pages = pages;
      setState({ pages, error: null });
    };
    const refresh = oneAtATime(abort.signal, async () => {
      const seen = pageOf(now.pages, now.last);
      if (now.pages.length === 0 || seen < FRESH_PAGES && now.pages[0]!.isStale) {
        return show(await fetchFirst(fetchPage, seen));
      }
      for (let n = pageOf(now.pages, now.first); n <= seen; n++) {
        const page = now.pages[n]!;
        if (page.isStale) show(now.pages.with(n, await fetchPage(page.from)));
      }
      const { next } = now.pages.at(-1)!;
      const nearEnd = now.last >= rowsOf(now.pages) - 1;
      if (nearEnd && next !== null) show([...now.pages, await fetchPage(next)]);
    }, (error) => setState(({ pages }) => ({ pages, error })));
    Object.assign(now, { pages: [], first: 0, last: 0, refresh });
    setState(EMPTY);
    refresh();
    const stop = onStale(stale, () => {
      now.changes++;
      now.pages = now.pages.map((page) => ({ ...page, isStale: true }));
      refresh();
    });
    return () => {
      abort.abort();
      stop();
    };
  }, [space.value, ...dependencies]);
  const { pages, error } = state;
  const rows = useMemo(() => pages?.flatMap((page) => page.rows) ?? null, [pages]);
  return {
    rows,
    error,
    hasMore: (pages?.at(-1)?.next ?? null) !== null,
    again() {
      const now = list.current;
      now.pages = now.pages.map((page) => ({ ...page, isStale: true }));
      now.refresh();
    },
    see(first, last) {
      Object.assign(list.current, { first, last });
      const { pages, refresh } = list.current;
      const isDue = pages.slice(pageOf(pages, first), pageOf(pages, last) + 1)
        .some(({ isStale }) => isStale);
      const isMissing = last >= rowsOf(pages) - 1 && (pages.at(-1)?.next ?? null) !== null;
      if (isDue || isMissing) refresh();
    },
  };
}

const EMPTY = { pages: null, error: null };

/** The pages from the start to page `last`, as far as the list goes. */
async function fetchFirst<T>(
  fetchPage: (from: string | null) => Promise<Loaded<T>>,
  last: number,
): Promise<readonly Loaded<T>[]> {
  const pages = [await fetchPage(null)];
  while (pages.length <= last && pages.at(-1)!.next !== null) {
    pages.push(await fetchPage(pages.at(-1)!.next));
  }
  return pages;
}

const rowsOf = (pages: readonly Loaded<unknown>[]): number =>
  pages.reduce((sum, { rows }) => sum + rows.length, 0);

/** The number of the page that holds a row; the last page for rows beyond the end. */
function pageOf(pages: readonly Loaded<unknown>[], row: number): number {
  let before = 0;
  for (const [n, { rows }] of pages.entries()) {
    before += rows.length;
    if (row < before) return n;
  }
  return Math.max(0, pages.length - 1);
}

/** A page of a list with offsets, from its answer. */
export const offsetPage = <T>(
  rows: readonly T[],
  { offset, has_more }: { readonly offset: number; readonly has_more: boolean },
): Page<T> => ({ rows, next: has_more ? `${offset + rows.length}` : null });
