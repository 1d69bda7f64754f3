import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { space } from "./space.ts";
import { NEVER, oneAtATime, onStale, type Stale } from "./data.ts";
import { type Page, PageList } from "./page_list.ts";

export type { Page } from "./page_list.ts";

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

/** A list of the API. A change of the named resources fetches what is visible again. */
export function usePages<T>(
  load: (from: string | null, signal: AbortSignal) => Promise<Page<T>>,
  dependencies: readonly unknown[],
  stale: Stale = NEVER,
): Pages<T> {
  const [state, setState] = useState<{ pages: readonly Page<T>[] | null; error: unknown }>(EMPTY);
  const latest = useRef(load);
  latest.current = load;
  const actions = useRef({ again: () => {}, see: (_first: number, _last: number) => {} });
  useEffect(() => {
    const abort = new AbortController();
    const list = new PageList<T>(
      (from) => latest.current(from, abort.signal),
      (pages) => abort.signal.aborted || setState({ pages, error: null }),
    );
    const refresh = oneAtATime(
      abort.signal,
      () => list.refresh(),
      (error) => setState(({ pages }) => ({ pages, error })),
    );
    const again = () => {
      list.changed();
      refresh();
    };
    actions.current = {
      again,
      see(first, last) {
        if (list.see(first, last)) refresh();
      },
    };
    setState(EMPTY);
    refresh();
    const stop = onStale(stale, again);
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
    again: () => actions.current.again(),
    see: (first, last) => actions.current.see(first, last),
  };
}

const EMPTY = { pages: null, error: null };

/** A page of a list with offsets, from its answer. */
export const offsetPage = <T>(
  rows: readonly T[],
  { offset, has_more }: { readonly offset: number; readonly has_more: boolean },
): Page<T> => ({ rows, next: has_more ? `${offset + rows.length}` : null });
