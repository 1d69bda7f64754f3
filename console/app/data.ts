import { useEffect, useRef, useState } from "preact/hooks";
import { space } from "./space.ts";
import { onChanged } from "./live/live.ts";
import { isSignedOut, readSession } from "./session.ts";

/** What a screen shows of data that it fetches. While data is fetched again, the former data stays. */
export interface Data<T> {
  readonly data: T | null;
  readonly error: unknown;
  /** Fetches again. */
  readonly again: () => void;
}

/** Resource types whose changes make data stale; with `id`, only those of one resource. */
export interface Stale {
  readonly types: readonly string[];
  readonly id?: string;
  /** At most one fetch in this time, for lists whose reading is recorded itself. */
  readonly everyMs?: number;
}

export const NEVER: Stale = { types: [] };

/**
 * Data of the API, fetched when the screen opens, when a dependency or the space changes, and when one of the named
 * resources changes. At most one fetch is under way; a change meanwhile causes one more.
 */
export function useData<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
  stale: Stale = NEVER,
): Data<T> {
  const [state, setState] = useState<{ data: T | null; error: unknown }>(NOTHING);
  const latest = useRef(load);
  latest.current = load;
  const again = useRef(() => {});
  useEffect(() => {
    const abort = new AbortController();
    const refresh = oneAtATime(abort.signal, async () => {
      const data = await latest.current(abort.signal);
      if (!abort.signal.aborted) setState({ data, error: null });
    }, (error) => setState(({ data }) => ({ data, error })));
    again.current = refresh;
    setState(NOTHING);
    refresh();
    const stop = onStale(stale, refresh);
    return () => {
      abort.abort();
      stop();
    };
  }, [space.value, ...dependencies]);
  return { ...state, again: () => again.current() };
}

const NOTHING = { data: null, error: null };

/** Runs `work` once at a time; a call meanwhile causes one more run. Errors after the end are dropped. */
export function oneAtATime(
  ended: AbortSignal,
  work: () => Promise<void>,
  failed: (error: unknown) => void,
): () => Promise<void> {
  let isBusy = false, isWanted = false;
  return async () => {
    isWanted = true;
    if (isBusy) return;
    isBusy = true;
    while (isWanted && !ended.aborted) {
      isWanted = false;
      try {
        await work();
      } catch (error) {
        if (ended.aborted) break;
        if (isSignedOut(error)) await readSession().catch(() => {});
        failed(error);
      }
    }
    isBusy = false;
  };
}

/** Calls `refresh` when one of the resources changed, or any may have; returns how to stop. */
export function onStale({ types, id, everyMs = 0 }: Stale, refresh: () => void): () => void {
  if (types.length === 0) return () => {};
  let timer: ReturnType<typeof setTimeout> | undefined, lastMs = 0;
  const stop = onChanged((change) => {
    const concerns = change === null ||
      types.includes(change.type) && (id === undefined || change.id === id);
    if (!concerns || timer !== undefined) return;
    const waitMs = lastMs + everyMs - Date.now();
    const run = () => {
      timer = undefined;
      lastMs = Date.now();
      refresh();
    };
    if (waitMs <= 0) run();
    else timer = setTimeout(run, waitMs);
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}
