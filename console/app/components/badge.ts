import { html } from "htm/preact";

type Tone = "good" | "bad" | "warn" | "busy" | "quiet";

/** The tone of each state that rows of the API have. */
const TONES: Readonly<Record<string, Tone>> = {
  online: "good",
  succeeded: "good",
  approved: "good",
  allow: "good",
  delivered: "good",
  enabled: "good",
  resolved: "good",
  active: "good",
  complete: "good",
  synced: "good",
  ok: "good",
  degraded: "warn",
  pending: "warn",
  pending_approval: "warn",
  require_approval: "warn",
  approve: "warn",
  warn: "warn",
  warning: "warn",
  acknowledged: "warn",
  waiting: "warn",
  expired: "warn",
  medium: "warn",
  failed: "bad",
  denied: "bad",
  deny: "bad",
  rejected: "bad",
  timed_out: "bad",
  lost: "bad",
  critical: "bad",
  error: "bad",
  high: "bad",
  revoked: "bad",
  running: "busy",
  queued: "busy",
  retrying: "busy",
};

/** A state as a word with a colour; the word alone says it too. */
export function Badge({ state, tone }: { readonly state: string; readonly tone?: Tone }) {
  const shown = tone ?? (Object.hasOwn(TONES, state) ? TONES[state]! : "quiet");
  return html`<span class=${`badge ${shown}`}>${state.replaceAll("_", " ")}</span>`;
}
