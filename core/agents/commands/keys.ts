import {
  type CommandRecord,
  commands,
  type FleetCommandRecord,
  fleetCommands,
} from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { earlierCall, type KeyRecords } from "../../work/work.ts";

/** Commands hold the keys of the calls that started them, from the commit of the row to the end of its retention. */
export const COMMAND_KEYS: KeyRecords<CommandRecord> = {
  of: commands,
  index: "idempotency",
  idempotencyOf: ({ idempotency }) => idempotency,
  details: ({ id }) => ({ command_id: id }),
};

/** Fleet commands hold the keys of the calls that started them. */
export const FLEET_KEYS: KeyRecords<FleetCommandRecord> = {
  of: fleetCommands,
  index: "idempotency",
  idempotencyOf: ({ idempotency }) => idempotency,
  details: () => ({}),
};

/**
 * Writes a new command. A key that a fleet command holds is refused; of two commits that take one key at the same
 * moment, one is made again and refused.
 * @throws {Fault} CONFLICT
 */
export async function insertCommand(
  tx: Tx,
  tenant: Tenant,
  record: CommandRecord,
): Promise<CommandRecord> {
  const { actor: id, idempotency } = record;
  if (idempotency !== null) await earlierCall(FLEET_KEYS, tx, { id, tenant }, idempotency);
  return tx.insert(commands, tenant, record);
}

/** Writes a new fleet command; a key that a command holds is refused likewise. @throws {Fault} CONFLICT */
export async function insertFleetCommand(
  tx: Tx,
  tenant: Tenant,
  record: FleetCommandRecord,
): Promise<void> {
  const { actor: id, idempotency } = record;
  if (idempotency !== null) await earlierCall(COMMAND_KEYS, tx, { id, tenant }, idempotency);
  tx.insert(fleetCommands, tenant, record);
}
