/** An instant as every answer shows it: ISO 8601, UTC, milliseconds. */
export function iso(ms: number): string {
  const at = ms & LAST_MASK;
  if (lastMs[at] !== ms) {
    lastText[at] = new Date(ms).toISOString();
    lastMs[at] = ms;
  }
  return lastText[at]!;
}

// One instant is written many times, and writing it is dear: those of one record stand in each answer.
const LAST_MASK = 255;
const lastMs = new Float64Array(LAST_MASK + 1).fill(NaN);
const lastText: string[] = Array.from(lastMs, () => "");

/** The same for an instant that may not have come. */
export const isoOrNull = (ms: number | null): string | null => ms === null ? null : iso(ms);
