import {
  agentName,
  agents,
  freeNumber,
  isAgentName,
  numberedName,
} from "../../kv/records/agent.ts";
import { type DeviceRecord, devices } from "../../kv/records/device.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Entropy } from "../ports/ports.ts";

/** More than the agents that register at once under one name. */
const SKIPPED_MAX = 4_096;

/** What an agent is called. */
export interface Naming {
  readonly name: string;
  /** The name that it was to have, where that does not fit or belongs to another agent; else null. */
  readonly display_name: string | null;
}

/** The naming of an agent that was to have the name `asked`. */
export const namingOf = (name: string, asked: string): Naming => ({
  name,
  display_name: name === asked ? null : asked,
});

/** Where a name is taken. The search reads `store`; the transaction checks only the name that was found. */
export interface NameSpace {
  readonly store: Reader;
  readonly tx: Tx;
  readonly tenant: Tenant;
  readonly nowMs: number;
  /** Numbers to skip. A change that is retried skips some, so that simultaneous ones do not meet again. */
  readonly skipped: number;
}

/** How many numbers each attempt of a change skips: none at first, then a random part of twice as many each time. */
export function skips({ unit }: Pick<Entropy, "unit">): () => number {
  let below = 0;
  return () => {
    const skipped = below === 0 ? 0 : Math.floor(unit() * below);
    below = Math.min(Math.max(2, below * 2), SKIPPED_MAX);
    return skipped;
  };
}

/**
 * Finds the name for an agent that is to be called `asked`, with a number when another agent has it. The caller
 * writes it to the agent or to the device with the same transaction, so that no two get it. `agentId` is the agent
 * to be renamed, which may keep its own name.
 */
export async function takeName(
  { store, tx, tenant, nowMs, skipped }: NameSpace,
  asked: string,
  agentId: string | null,
): Promise<Naming> {
  const isTaken = async (db: Reader, name: string): Promise<boolean> => {
    const agent = await db.find(agents, tenant, "name", [name]);
    if (agent !== null) return agent.id !== agentId;
    const device = await db.find(devices, tenant, "agent_name", [name]);
    return device !== null && !isAbandoned(device, nowMs);
  };
  const wanted = agentName(asked);
  const free = await freeNumber(wanted, (name) => isTaken(store, name));
  for (let number = free + skipped;; number++) {
    const name = numberedName(wanted, number);
    if (await isTaken(tx, name)) continue;
    const abandoned = await tx.find(devices, tenant, "agent_name", [name]);
    if (abandoned !== null) tx.put(devices, tenant, { ...abandoned, agent_name: null });
    return namingOf(name, asked);
  }
}

/** True for a device that can no longer be confirmed. */
const isAbandoned = ({ trust, token_expires_at_ms }: DeviceRecord, nowMs: number): boolean =>
  trust === "pending" && nowMs >= token_expires_at_ms;

/**
 * The id of the agent that a caller names by its id or its name. A text that names none stays as it is: the rules
 * find no agent by it.
 */
export async function agentIdOf(db: Reader, tenant: Tenant, text: string): Promise<string> {
  if (!isAgentName(text)) return text;
  return (await db.find(agents, tenant, "name", [text]))?.id ?? text;
}
