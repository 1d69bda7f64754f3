import type { Log } from "./interfaces.ts";

/**
 * Writes a line to a log. A line that cannot be written, for example on a full disk, is lost without an error, so
 * that logging never interrupts work.
 */
export function logLine(write: (line: string) => void, line: string): void {
  try {
    write(line);
  } catch {
    // The runtime throws the error of the file descriptor.
  }
}

/** A log without the lines below a level. */
export function atLevel(log: Log, least: keyof Log): Log {
  const drop = () => {};
  if (least === "info") return log;
  return { info: drop, warn: least === "warn" ? log.warn : drop, error: log.error };
}
