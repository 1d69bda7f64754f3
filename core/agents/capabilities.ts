import type { AgentRecord } from "../../kv/records/agent.ts";

/** What the program of an agent may do beyond running commands. An older program lacks some. */
export const CAPABILITIES = ["upgrade", "key_handover"] as const;
type Capability = typeof CAPABILITIES[number];

/** The capabilities that an agent reported with its newest link. */
export function capabilitiesOf({ program, verdict_key }: AgentRecord): Capability[] {
  const has: Readonly<Record<Capability, boolean>> = {
    upgrade: program !== null && program.form !== "source",
    key_handover: verdict_key !== null,
  };
  return CAPABILITIES.filter((name) => has[name]);
}
