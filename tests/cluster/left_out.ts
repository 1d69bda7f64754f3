/** Tests that make no sense on several instances, by the reason. All others must pass on them. */
export const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  "each instance reads its own configuration, so a reload changes only the one that serves it": [
    "config: shows whether private addresses are dialled, and records a change",
    "config: a reload returns the differences, which apply from the next request",
    "config: a change of any size is put in force, and its event records as much as fits",
  ],
  "what other instances have leased counts as used": [
    "limits.get: shows the limits in force, their sources, and what is left",
    "api_keys.explain: shows the key, its creator, its organization and the limits in force",
    "api_keys.explain: shows what is left of each limit after the key's use",
  ],
  "each instance fetches an issuer's keys for itself": [
    "issuers: keys are fetched every ten minutes, and for unknown keys at most twice a minute",
    "issuers: an unreachable issuer gives 503; its known keys are used for a day",
  ],
  "a command that is handed over is still queued when its start is answered": [
    "commands.start: answers at once with the running command; get shows its end",
  ],
};

/** The names of those tests. */
export const NAMES: ReadonlySet<string> = new Set(Object.values(LEFT_OUT).flat());
