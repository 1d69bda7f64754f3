import type { Alert, AlertState, Severity } from "../../../client/client.ts";
import type { Call, Run } from "../command.ts";

/** `relay alerts ls` */
export const listAlerts: Run = async ({ relay, text, number, out }) => {
  const answer = await relay().call("alerts.list", {
    query: {
      state: text("state") as AlertState | undefined,
      severity: text("severity") as Severity | undefined,
      source: text("source"),
      agent_id: text("agent"),
      text: text("text"),
      limit: number("limit"),
      offset: number("offset"),
    },
  });
  const { alerts, pagination } = answer;
  await out.list(
    answer,
    ["ID", "SEVERITY", "STATE", "ACKNOWLEDGED BY", "SOURCE", "AGENT", "COUNT", "LAST SEEN", "NAME"],
    alerts.map((alert) =>
      [
        alert.alert_id,
        alert.severity,
        alert.state,
        alert.acknowledged_by,
        alert.source,
        alert.agent_id,
        alert.count,
        alert.last_seen_at,
        alert.name,
      ] as const
    ),
  );
  if (pagination.has_more) await out.note(`${alerts.length} of ${pagination.total}: use --offset.`);
};

/** `relay alerts ack` */
export const acknowledgeAlert: Run = (call) => remark(call, "alerts.acknowledge");

/** `relay alerts resolve` */
export const resolveAlert: Run = (call) => remark(call, "alerts.resolve");

async function remark(call: Call, operation: "alerts.acknowledge" | "alerts.resolve") {
  const { relay, text, out, args: [alert_id = ""] } = call;
  const body = { alert_id, reason: text("reason") };
  const alert: Alert = await relay().call(operation, { body });
  await out.item(alert, alert.alert_id, [
    ["id", alert.alert_id],
    ["name", alert.name],
    ["severity", alert.severity],
    ["state", alert.state],
    ["source", alert.source],
    ["agent", alert.agent_id],
    ["acknowledged by", alert.acknowledged_by],
    ["resolved by", alert.resolved_by],
    ["reason", alert.reason],
  ]);
}
