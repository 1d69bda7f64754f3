import { signal } from "@preact/signals";
import { html } from "htm/preact";
import { durationOf } from "./duration.ts";

/** The present, for relative times and for what counts down. It moves every second. */
export const now = signal(Date.now());
setInterval(() => now.value = Date.now(), 1_000);

const STEPS: readonly [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, "second"],
  [3_600, "minute"],
  [86_400, "hour"],
  [86_400 * 30, "day"],
  [86_400 * 365, "month"],
  [Infinity, "year"],
];
const SECONDS = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: 86_400,
  month: 2_592_000,
  year: 31_536_000,
};
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

function relativeOf(ms: number): string {
  const seconds = Math.round((ms - now.value) / 1_000);
  if (Math.abs(seconds) < 3) return "now";
  const [, unit] = STEPS.find(([below]) => Math.abs(seconds) < below)!;
  return relative.format(Math.trunc(seconds / SECONDS[unit as keyof typeof SECONDS]), unit);
}

/** An instant, relative to now; the exact one in the viewer's zone is its tooltip. */
export function Time({ at }: { readonly at: string | null }) {
  if (at === null) return html`<span class="soft">never</span>`;
  const ms = Date.parse(at);
  return html`<time dateTime=${at} title=${`${exact.format(ms)} (${at})`}>${relativeOf(ms)}</time>`;
}

/** The exact instant in the viewer's zone. */
export function ExactTime({ at }: { readonly at: string | null }) {
  if (at === null) return html`<span class="soft">never</span>`;
  return html`<time dateTime=${at} title=${at}>${exact.format(Date.parse(at))}</time>`;
}

/** The time left until an instant, counted down. */
export function TimeLeft({ until, after = "" }: {
  readonly until: string;
  /** Follows the time, while there is any. */
  readonly after?: string;
}) {
  const ms = Date.parse(until) - now.value;
  return html`<time dateTime=${until} title=${exact.format(Date.parse(until))}>${
    ms <= 0 ? "time is up" : durationOf(Math.floor(ms / 1_000) * 1_000) + after
  }</time>`;
}
