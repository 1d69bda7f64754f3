import { z } from "zod";
import { fingerprintOf, readReports, REPORTS_MAX } from "../alerts/report.ts";
import { takeReports } from "../alerts/take_all.ts";
import type { Stepping } from "../../work/work.ts";
import { canonicalJson } from "../../codec/canonical.ts";
import { sha256Hex } from "../../codec/text.ts";
import { keepPace } from "./pace.ts";
import { ACCEPTED, reasonsOf, receive, type Received, refuse } from "./receive.ts";
import { cut, idOf, severityOf } from "./text.ts";

const Status = z.enum(["firing", "resolved"]);
const Texts = z.record(z.string(), z.string());

/** One alert of the webhook message, version 4; only what is used is read. */
const Alert = z.looseObject({
  status: Status.optional(),
  labels: Texts.default({}),
  annotations: Texts.default({}),
  startsAt: z.string().optional(),
  endsAt: z.string().optional(),
  generatorURL: z.string().optional(),
  fingerprint: z.string().optional(),
});

/** Alertmanager's webhook message, version 4, of which status and alerts are enough. */
const Message = z.looseObject({
  status: Status,
  alerts: z.array(z.unknown()).max(REPORTS_MAX),
  groupKey: z.string().optional(),
  receiver: z.string().optional(),
  truncatedAlerts: z.int().min(0).default(0),
});
type Message = z.infer<typeof Message>;

const SOURCE = "alertmanager";
const ANNOTATIONS_MAX = 16;
const ANNOTATION_CHARS_MAX = 500;
const NAME_CHARS_MAX = 200;

/** Takes the alerts of an Alertmanager; a notification that is sent again changes nothing. */
export async function receiveAlertmanager(work: Stepping, token: string | null, body: unknown) {
  await keepPace(work.app, async () => {
    const received = await receive(work, "alertmanager", token, Message, body);
    return received && await takeAlertmanager(received);
  });
  return ACCEPTED;
}

async function takeAlertmanager(received: Received<z.infer<typeof Message>>) {
  const { message } = received;
  const items = message.alerts.map((alert) => itemOf(message, alert));
  const { reports, errors } = await readReports(items);
  const delivery = sha256Hex(canonicalJson([
    message.groupKey?.toWellFormed() ?? null,
    message.status,
    reports.map((r) => [r.fingerprint, r.state, r.startsAtMs, r.endsAtMs].join(" ")).sort(),
  ]));
  await takeReports(received, { source: SOURCE, delivery }, reports, {
    always: false,
    details: {
      group_key: cut(message.groupKey ?? "", 500),
      receiver: cut(message.receiver ?? "", 200),
      status: message.status,
      truncated: message.truncatedAlerts,
    },
  });
  if (errors.length > 0) await refuse(received, reasonsOf(errors));
  return ACCEPTED;
}

/** An Alertmanager alert as an import has it; what cannot be read is left for the import to refuse. */
function itemOf({ status: groupStatus }: Message, alert: unknown): unknown {
  const read = Alert.safeParse(alert);
  if (!read.success) return alert;
  const { status = groupStatus, labels, annotations, generatorURL } = read.data;
  const name = labels.alertname || "alert";
  const over = status === "resolved";
  return {
    name: cut(name, NAME_CHARS_MAX),
    severity: severityOf(labels.severity),
    state: over ? "resolved" : "active",
    fingerprint: idOf(read.data.fingerprint) ??
      fingerprintOf(name.toWellFormed(), wellFormed(labels)),
    agent_id: idOf(labels.agent_id),
    labels,
    annotations: shortened({ ...annotations, ...(generatorURL && { generatorURL }) }),
    starts_at: instantOf(read.data.startsAt),
    ends_at: over ? instantOf(read.data.endsAt) : undefined,
  };
}

const shortened = (annotations: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(annotations).filter(([name]) => name !== "").slice(0, ANNOTATIONS_MAX)
      .map(([name, text]) => [cut(name, NAME_CHARS_MAX), cut(text, ANNOTATION_CHARS_MAX)]),
  );

const wellFormed = (labels: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(labels).map((pair) => pair.map((text) => text.toWellFormed())));

/** Go's zero time says that there is none. */
const instantOf = (text: string | undefined) => text?.startsWith("0001-01-01T") ? undefined : text;
