import type { Tenant } from "../../../kv/store/collection.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Ports } from "../../ports/ports.ts";
import type { ShieldResult } from "../../shield/shield.ts";
import { fingerprintOf } from "./report.ts";
import { alertIdOf, recordReport } from "./record.ts";

/** The source of the alerts that Relay raises itself. */
export const SHIELD_SOURCE = "shield";

/** The heaviest rule of a denial. */
export const denyingRule = ({ rule_ids }: ShieldResult): string => rule_ids[0] ?? "shield";

/** The one alert for an agent and a rule. */
export const denialAlertId = (tenant: Tenant, agentId: string, rule: string): string =>
  alertIdOf(tenant, SHIELD_SOURCE, denialFingerprint({ agent_id: agentId, rule }));

const denialFingerprint = (labels: { readonly agent_id: string; readonly rule: string }) =>
  fingerprintOf("command_denied", labels);

/** Raises an alert for a denied command: one for each agent and rule, however often it happens. */
export async function alertOfDenial(
  ports: Pick<Ports, "clock">,
  tx: Tx,
  tenant: Tenant,
  { id, agent_id: agentId, actor }: CommandRecord,
  result: ShieldResult,
): Promise<void> {
  const rule = denyingRule(result);
  const { layer, explanation } = result;
  const labels = { agent_id: agentId, rule };
  const origin = { source: SHIELD_SOURCE, by: "relay", delivery: null };
  await recordReport(ports, tx, tenant, origin, {
    fingerprint: denialFingerprint(labels),
    name: "command_denied",
    severity: "critical",
    state: "active",
    agentId,
    labels: { ...labels, layer },
    annotations: { summary: explanation, last_command_id: id, last_actor: actor },
    startsAtMs: null,
    endsAtMs: null,
  });
}
