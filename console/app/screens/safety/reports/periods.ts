/** A period that reports are often made for, as the API takes it. */
export interface NamedPeriod {
  readonly name: string;
  readonly period: string;
}

/** The usual periods, seen from an instant. */
export function periodsNow(now: Date): readonly NamedPeriod[] {
  const quarter = now.getUTCFullYear() * 4 + Math.floor(now.getUTCMonth() / 3);
  const named = (n: number) => `${Math.floor(n / 4)}-Q${n % 4 + 1}`;
  return [
    { name: `this quarter, ${named(quarter)}`, period: named(quarter) },
    { name: `last quarter, ${named(quarter - 1)}`, period: named(quarter - 1) },
    { name: "the last 24 hours", period: "24h" },
    { name: "the last 7 days", period: "7d" },
    { name: "the last month", period: "P1M" },
    { name: "the last year", period: "P1Y" },
  ];
}
