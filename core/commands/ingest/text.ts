import type { AlertSeverity } from "../../../kv/records/alert.ts";

const SEVERITIES: Readonly<Record<string, AlertSeverity>> = {
  critical: "critical",
  crit: "critical",
  page: "critical",
  error: "critical",
  high: "critical",
  emergency: "critical",
  fatal: "critical",
  warning: "warning",
  warn: "warning",
  medium: "warning",
  info: "info",
  information: "info",
  notice: "info",
  low: "info",
  none: "info",
  debug: "info",
};

/** The severity that a sender's own word means; a warning when it is none that is known. */
export function severityOf(word: unknown): AlertSeverity {
  const key = typeof word === "string" ? word.toLowerCase() : "";
  return Object.hasOwn(SEVERITIES, key) ? SEVERITIES[key]! : "warning";
}

/** Text for people, cut to so many characters: losing its end is better than losing the alert. */
export const cut = (text: string, charsMax: number): string =>
  text.slice(0, charsMax).toWellFormed();

/** An id that a sender put into a label, or null when it can be none. */
export const idOf = (value: unknown): string | null =>
  typeof value === "string" && /^[\x21-\x7e]{1,128}$/.test(value) ? value : null;
