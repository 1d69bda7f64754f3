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
