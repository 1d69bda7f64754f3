import { hash } from "node:crypto";
import { z } from "zod";
import { readReports, REPORTS_MAX } from "../alerts/report.ts";
import { stateOf } from "../alerts/scales.ts";
import { cut } from "../alerts/sender_fields.ts";
import { recordReports } from "../alerts/record_all.ts";
import type { Stepping } from "../../work/work.ts";
import { canonicalJson } from "../../codec/codec.ts";
import { ACCEPTED, reasonsOf, receive, type Received, refuse } from "./receive.ts";
import { readLenient } from "./lenient.ts";
import { withUniformTiming } from "./uniform_timing.ts";

/** Alertmanager's webhook message, version 4; only status and alerts are required. */
const Message = z.looseObject({
  status: z.enum(["firing", "resolved"]),
  alerts: z.array(z.unknown()).max(REPORTS_MAX),
  groupKey: z.string().optional(),
  receiver: z.string().optional(),
  truncatedAlerts: z.int().min(0).default(0),
});
type Message = z.infer<typeof Message>;

const SOURCE = "alertmanager";

/** Takes the alerts of an Alertmanager; a repeated notification changes nothing. */
export async function receiveAlertmanager(work: Stepping, token: string | null, body: unknown) {
  await withUniformTiming(work, async () => {
    const received = await receive(work, "alertmanager", token, Message, body);
    return received && await takeAlertmanager(received);
  });
  return ACCEPTED;
}

async function takeAlertmanager(received: Received<z.infer<typeof Message>>) {
  const { message } = received;
  const { reports, errors } = await readReports(
    message.alerts,
    (alert) => readLenient(alert, { defaults: { name: "alert", state: stateOf(message.status) } }),
  );
  const delivery = hash(
    "sha256",
    canonicalJson([
      message.groupKey?.toWellFormed() ?? null,
      message.status,
      reports.map((r) => [r.fingerprint, r.state, r.startsAtMs, r.endsAtMs].join(" ")).sort(),
    ]),
  );
  await recordReports(received, { source: SOURCE, delivery }, reports, {
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
