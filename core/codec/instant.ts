/** An instant in ISO 8601, UTC, with milliseconds, as every answer shows it. */
export function iso(ms: number): string {
  const at = ms & LAST_MASK;
  if (lastMs[at] !== ms) {
    lastText[at] = new Date(ms).toISOString();
    lastMs[at] = ms;
  }
  return lastText[at]!;
}

// Formatting is expensive, and answers repeat the instants of the same records.
const LAST_MASK = 255;
const lastMs = new Float64Array(LAST_MASK + 1).fill(NaN);
const lastText: string[] = Array.from(lastMs, () => "");

/** An instant as `iso` shows it, or null for null. */
export const isoOrNull = (ms: number | null): string | null => ms === null ? null : iso(ms);
