import { hash } from "node:crypto";
import { z } from "zod";
import { ALERT_SEVERITIES, ALERT_STATES, type AlertSeverity } from "../../../kv/records/alert.ts";
import { canonicalJson } from "../../codec/codec.ts";
import { atMost } from "../../protocol/protocol.ts";
import { nextTurn } from "../../ports/ports.ts";
import { charsOf, ENTRIES_MAX, NAME_CHARS_MAX, readSent, TEXT_CHARS_MAX } from "./sender_fields.ts";

/** Reports in one request. */
export const REPORTS_MAX = 10_000;
/** Reports read before other tasks get their turn: at most about 10 ms of work. */
const REPORTS_A_TURN = 64;

const text = (charsMax: number) =>
  z.string().max(charsMax).refine(
    (value) => value.isWellFormed(),
    "must not hold unpaired surrogates",
  );
const texts = atMost(ENTRIES_MAX, z.record(text(200).min(1), text(4_000)));
const visible = z.string().regex(
  /^[\x21-\x7e]{1,128}$/,
  "must be 1 to 128 visible ASCII characters",
);
const instant = z.iso.datetime("must be ISO 8601, such as 2026-01-31T12:00:00Z, or Unix time")
  .transform((value) => Date.parse(value));

const SEVERITY_HELP =
  "must be info, warning, critical or a word of another scale, such as HIGH, P2 or Sev1; " +
  "numbers are ambiguous, because scales count in both directions";
const STATE_HELP = "must be active or resolved";

/** One alert as `readSent` reads it. */
const AlertReport = z.strictObject({
  name: text(NAME_CHARS_MAX).min(1),
  severity: z.enum(ALERT_SEVERITIES, SEVERITY_HELP).default("warning"),
  state: z.enum(ALERT_STATES, STATE_HELP).default("active"),
  fingerprint: visible.optional(),
  agent_id: visible.nullable().default(null),
  labels: texts.default({}),
  annotations: texts.default({}),
  starts_at: instant.optional(),
  ends_at: instant.optional(),
}).refine(
  ({ labels, annotations }) => charsOf(labels) + charsOf(annotations) <= TEXT_CHARS_MAX,
  `labels and annotations must hold at most ${TEXT_CHARS_MAX} characters together`,
);

/** A report of one alert; times in ms. */
export interface Report {
  readonly fingerprint: string;
  readonly name: string;
  readonly severity: AlertSeverity;
  readonly state: "active" | "resolved";
  readonly agentId: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAtMs: number | null;
  readonly endsAtMs: number | null;
}

/** A report that could not be read. */
export interface ReportError {
  /** Its index in the request. */
  readonly index: number;
  readonly message: string;
}

const MESSAGE_MAX = 200;

/** Reads reports one by one; a malformed report does not affect the others. */
export async function readReports(
  items: readonly unknown[],
  read: (item: unknown) => unknown = readSent,
): Promise<{ reports: Report[]; errors: ReportError[] }> {
  const reports: Report[] = [], errors: ReportError[] = [];
  for (const [index, item] of items.entries()) {
    if (index % REPORTS_A_TURN === REPORTS_A_TURN - 1) await nextTurn();
    const checked = AlertReport.safeParse(read(item));
    if (checked.success) reports.push(reportOf(checked.data));
    else errors.push({ index, message: firstIssue(checked.error) });
  }
  return { reports, errors };
}

/** The first issue of an input, with its path. */
export function firstIssue({ issues }: z.ZodError): string {
  const { path, message } = issues[0]!;
  return [path.join("."), message].filter(Boolean).join(": ").slice(0, MESSAGE_MAX).toWellFormed();
}

function reportOf(input: z.infer<typeof AlertReport>): Report {
  const { name, severity, state, labels, annotations } = input;
  return {
    fingerprint: input.fingerprint ?? fingerprintOf(name, labels),
    name,
    severity,
    state,
    agentId: input.agent_id,
    labels,
    annotations,
    startsAtMs: input.starts_at ?? null,
    endsAtMs: state === "resolved" ? input.ends_at ?? null : null,
  };
}

/** The fingerprint of an alert without its own: a digest of its name and labels in any order. */
export const fingerprintOf = (name: string, labels: Readonly<Record<string, string>>): string =>
  hash("sha256", canonicalJson([name, labels])).slice(0, 32);
