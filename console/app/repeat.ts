import { useEffect, useRef } from "preact/hooks";
import { onStale } from "./data.ts";

/**
 * Calls `again` every `ms` while `isOn` and the page is visible: for what changes without an event, such as
 * the progress of a job.
 */
export function useRepeat(isOn: boolean, ms: number, again: () => void): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") latest.current();
    }, ms);
    return () => clearInterval(timer);
  }, [isOn, ms]);
}

/**
 * Calls `again` shortly after a resource of these types changed: for what follows from such a change, such as the
 * delivery of an event.
 */
export function useFollowing(types: readonly string[], ms: number, again: () => void): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    let timer: number | undefined;
    const stop = onStale({ types }, () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        latest.current();
      }, ms);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [types, ms]);
}
