import { useEffect, useRef, useState } from "preact/hooks";
import { space } from "./space.ts";
import { onChanged } from "./live/live.ts";
import { RelayError } from "../../core/client/client.ts";
import { expired, isSignedOut, me, readSession } from "./session.ts";

/**
 * What a screen shows of data that it fetches. While data is fetched again, the former data stays. It stays too, without
 * an error, when that fails for a reason that passes, so that no form disappears from the page.
 */
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
    let hasData = false;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const refresh = oneAtATime(abort.signal, async () => {
      clearTimeout(retry);
      const data = await latest.current(abort.signal);
      if (abort.signal.aborted) return;
      hasData = true;
      setState({ data, error: null });
    }, (error) => {
      if (hasData && passes(error)) retry = setTimeout(refresh, RETRY_MS);
      else setState(({ data }) => ({ data, error }));
    });
    again.current = refresh;
    setState(NOTHING);
    refresh();
    const stop = onStale(stale, refresh);
    return () => {
      abort.abort();
      clearTimeout(retry);
      stop();
    };
  }, [space.value, ...dependencies]);
  return { ...state, again: () => again.current() };
}

const NOTHING = { data: null, error: null };

/** When data is fetched again after a failure that passes. */
const RETRY_MS = 5_000;

/** True for a failure that says nothing about the data: no connection, too many requests, a fault of the relay. */
const passes = (error: unknown): boolean =>
  error instanceof RelayError &&
  (error.status === 0 || error.status === 429 || error.status >= 500);

/**
 * Runs `work` once at a time; a call meanwhile causes one more run. Errors after the end are dropped. While the session
 * has ended, it waits for the viewer to sign in again, since somebody else may be signed in.
 */
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
      if (expired.value) await signedInAgain(ended);
      if (ended.aborted) break;
      try {
        await work();
      } catch (error) {
        if (ended.aborted) break;
        if (isSignedOut(error)) await readSession().catch(() => {});
        if (expired.value) isWanted = true;
        else failed(error);
      }
    }
    isBusy = false;
  };
}

/** Resolves when somebody has signed in again, or at the end. */
function signedInAgain(ended: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = expired.subscribe((isExpired) => isExpired || me.value === null || resolve());
  ended.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(stop);
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
