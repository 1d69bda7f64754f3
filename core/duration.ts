const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60 * 1000,
  h: 60 * 60 * 1000,
  d: 24 * 60 * 60 * 1000,
  w: 7 * 24 * 60 * 60 * 1000,
};

/** The milliseconds of a duration such as `30m`, `24h` or `90d`; null for any other text and for zero. */
export function parseDuration(text: string): number | null {
  const match = /^([1-9]\d{0,5})([smhdw])$/.exec(text);
  if (match === null) return null;
  const [, count = "", unit = ""] = match;
  return Number(count) * (UNIT_MS[unit] ?? NaN);
}
