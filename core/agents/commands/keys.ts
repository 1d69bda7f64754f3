import {
  type CommandRecord,
  commands,
  type FleetCommandRecord,
  fleetCommands,
} from "../../../kv/records/command.ts";
import type { KeyRecords } from "../../work/work.ts";

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
