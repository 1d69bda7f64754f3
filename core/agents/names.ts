import {
  AGENT_ID_PREFIX,
  agentName,
  agentNames,
  freeNumber,
  isAgentName,
  numberedName,
} from "../../kv/records/agent.ts";
import type { DeviceRecord } from "../../kv/records/device.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { Tx } from "../../kv/store/tx.ts";
import { Fault } from "../fault/fault.ts";
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

/** The attempts of one change to take a name. */
export interface Attempts {
  /** The name that the attempt before wanted to take. */
  tried: string | null;
  /** How many numbers the next attempt skips at most, so that simultaneous changes do not meet again. */
  skippedMax: number;
}

export const firstAttempt = (): Attempts => ({ tried: null, skippedMax: 1 });

/** Where a name is taken. The search reads `store`; the transaction checks only the name that was found. */
export interface NameSpace {
  readonly store: Reader;
  readonly tx: Tx;
  readonly tenant: Tenant;
  readonly entropy: Pick<Entropy, "unit">;
  readonly attempts: Attempts;
}

/**
 * Finds the name for an agent that is to be called `asked`, with a number when another agent has it. The caller gives
 * it with the same transaction, by `giveName` or `reserveName`, so that no two agents get it. `agentId` is the agent
 * to be renamed, which may keep its own name; null for a new one.
 */
export async function takeName(
  { store, tx, tenant, entropy, attempts }: NameSpace,
  asked: string,
  agentId: string | null,
): Promise<Naming> {
  const isTaken = async (db: Reader, name: string): Promise<boolean> => {
    const taken = await db.get(agentNames, tenant, name);
    return taken !== null && (agentId === null || taken.agent_id !== agentId);
  };
  const wanted = agentName(asked);
  let number = await freeNumber(wanted, (name) => isTaken(store, name));
  if (attempts.tried !== null && await isTaken(store, attempts.tried)) {
    attempts.skippedMax = Math.min(attempts.skippedMax * 4, SKIPPED_MAX);
    number += Math.floor(entropy.unit() * attempts.skippedMax);
    while (await isTaken(store, numberedName(wanted, number))) number++;
  }
  const name = attempts.tried = numberedName(wanted, number);
  // Another change took it after the search. A search in the transaction would add too many checks.
  if (await isTaken(tx, name)) tx.retry();
  return namingOf(name, asked);
}

/** Gives an agent its name, in place of the one before. */
export async function giveName(
  tx: Tx,
  tenant: Tenant,
  agent_id: string,
  name: string,
  before: string | undefined,
): Promise<void> {
  if (name === before) return;
  if (before !== undefined) await freeName(tx, tenant, before, agent_id);
  tx.put(agentNames, tenant, { id: name, agent_id, device_id: null, expires_at_ms: null });
}

/** Frees the name of an agent, unless another one has it: instances of an earlier version let names repeat. */
export async function freeName(
  tx: Tx,
  tenant: Tenant,
  name: string,
  agentId: string,
): Promise<void> {
  const given = await tx.get(agentNames, tenant, name);
  if (given?.agent_id === agentId) tx.drop(agentNames, tenant, name);
}

type Reservation = Pick<DeviceRecord, "id" | "agent_name">;

/** Reserves a name for a device's agent: until `expires_at_ms`, or with null for as long as the device is there. */
export function reserveName(
  tx: Tx,
  tenant: Tenant,
  { id, agent_name }: Reservation,
  expires_at_ms: number | null,
): void {
  if (agent_name === null) return;
  tx.put(agentNames, tenant, { id: agent_name, agent_id: null, device_id: id, expires_at_ms });
}

/** The name that is still reserved for a device's agent, or null. */
export async function reservedName(
  db: Reader,
  tenant: Tenant,
  { id, agent_name }: Reservation,
): Promise<string | null> {
  const reserved = agent_name === null ? null : await db.get(agentNames, tenant, agent_name);
  return reserved?.device_id === id ? agent_name : null;
}

/** Frees the name that is reserved for a device, unless its agent gets it. */
export async function releaseName(
  tx: Tx,
  tenant: Tenant,
  device: Reservation,
  given: string | null,
): Promise<void> {
  const reserved = await reservedName(tx, tenant, device);
  if (reserved !== null && reserved !== given) tx.drop(agentNames, tenant, reserved);
}

/**
 * The id of the agent that a caller names by its id or its name. A text that names none stays as it is: the rules
 * find no agent by it.
 */
export async function agentIdOf(db: Reader, tenant: Tenant, text: string): Promise<string> {
  if (!isAgentName(text)) return text;
  return (await db.get(agentNames, tenant, text))?.agent_id ?? text;
}

/**
 * The id by which a filter finds what concerns an agent. An id stays as it is, because the agent may have been deleted.
 * A name that no agent has is refused, because an empty list would look like an answer.
 * @throws {Fault} AGENT_NOT_FOUND
 */
export async function agentIdOfFilter(db: Reader, tenant: Tenant, text: string): Promise<string> {
  const id = await agentIdOf(db, tenant, text);
  if (id.startsWith(AGENT_ID_PREFIX)) return id;
  throw new Fault(
    "AGENT_NOT_FOUND",
    `No agent is named ${
      JSON.stringify(text)
    }. Give the id of an agent that was renamed or deleted.`,
  );
}
