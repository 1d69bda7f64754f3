import type { AlertSeverity, AlertState } from "../../../kv/records/alert.ts";

/**
 * The severities of common scales, in lower case without blanks, dashes and underscores: Relay's own,
 * syslog's, those of CVSS, ITU X.733 and Zabbix, `P1` to `P5`, and Azure's `Sev0` to `Sev4`.
 */
const SEVERITY_WORDS: Readonly<Record<AlertSeverity, string>> = {
  critical: "critical crit page error err high emergency emerg panic fatal alert severe major " +
    "important urgent disaster blocker p0 p1 p2 sev0 sev1",
  warning: "warning warn medium moderate average minor unknown p3 sev2",
  info: "info information informational notice low none ok success normal debug trace verbose " +
    "p4 p5 sev3 sev4 sev5",
};

/** The words of senders for active and for resolved alerts. */
const STATE_WORDS: Readonly<Record<AlertState, string>> = {
  active: "active firing open opened triggered alerting problem new acknowledged ongoing",
  resolved: "resolved ok closed recovered cleared inactive",
};

const SEVERITIES = meanings(SEVERITY_WORDS);
const STATES = meanings(STATE_WORDS);

function meanings<M extends string>(words: Readonly<Record<M, string>>): ReadonlyMap<string, M> {
  const all = Object.entries<string>(words) as [M, string][];
  return new Map(all.flatMap(([meaning, list]) => list.split(" ").map((word) => [word, meaning])));
}

/** The severity of a sender's word in any case; undefined for an unknown word. */
export const severityOf = (word: unknown): AlertSeverity | undefined => SEVERITIES.get(plain(word));

/** The state of a sender's word in any case; undefined for an unknown word. */
export const stateOf = (word: unknown): AlertState | undefined => STATES.get(plain(word));

const WORD_CHARS_MAX = 64;

const plain = (word: unknown): string =>
  typeof word === "string" && word.length <= WORD_CHARS_MAX
    ? word.toLowerCase().replace(/[\s_-]/g, "")
    : "";
