import type { AgentRecord } from "../../../kv/records/agent.ts";
import type { DeviceRecord } from "../../../kv/records/device.ts";
import type { HelloFrame } from "../../protocol/protocol.ts";
import { labelsBy, withCodeLabels } from "../labels.ts";
import { type NameSpace, type Naming, namingOf, reservedName, takeName } from "../names.ts";

/**
 * The name of an agent that links. A known agent keeps its name, unless it was paired again under another one. A new
 * agent gets the name that it was paired with, or else the one that it reports.
 */
export async function namingFor(
  names: NameSpace,
  known: AgentRecord | null,
  device: DeviceRecord | null,
  { agent }: HelloFrame,
): Promise<Naming> {
  const { tx, tenant } = names;
  const reserved = device === null ? null : await reservedName(tx, tenant, device);
  if (known !== null && (reserved === null || isCalled(known, device!.name))) {
    return { name: known.name, display_name: known.display_name };
  }
  if (reserved !== null) return namingOf(reserved, device!.name);
  return await takeName(names, device?.name ?? agent.name, null);
}

const isCalled = ({ name, display_name }: Naming, asked: string): boolean =>
  asked === name || asked === display_name;

/** The labels of an agent that links. Those of a pairing code apply once, from the first link of its device on. */
export function labelsFor(
  known: AgentRecord | null,
  device: DeviceRecord | null,
  { agent }: HelloFrame,
) {
  const owned = known?.relay_labels ?? {};
  const isPaired = device !== null && device.id !== known?.credential_id;
  return labelsBy(agent.labels, isPaired ? withCodeLabels(owned, device.labels) : owned);
}
