/**
 * Writes a line of a log. Where it cannot be written, as on a full disk, it is lost: what it tells of goes on,
 * and there is nobody to tell of that.
 */
export function logLine(write: (line: string) => void, line: string): void {
  try {
    write(line);
  } catch {
    // The runtime throws what the file descriptor says.
  }
}
