import { useEffect, useRef } from "preact/hooks";

/**
 * Calls `again` every `ms` while `isOn` and the page is visible: for what changes without an event, such as a
 * delivery that is under way and the progress of a job.
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
