import { type CommandRecord, commands } from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Background } from "../../ports/ports.ts";
import type { CommandParts } from "../commands/parts.ts";
import { type Ending, settleCommand, type SettlementContext } from "../commands/settle.ts";

/** The parts that drive fleet commands. */
export interface DriveParts
  extends SettlementContext, Pick<CommandParts, "links" | "commands" | "elsewhere"> {
  readonly policyCache: CommandParts["policyCache"];
  readonly background: Background;
  /** The id of this process. */
  readonly instance: string;
}

/** Ends a command that was not sent, if it is in this status. Returns its record; null when it has none. */
export const endUnsent = (
  context: SettlementContext,
  tenant: Tenant,
  id: string,
  from: "queued" | "pending_approval",
  ending: Pick<Ending, "status" | "why"> & { readonly by?: string | null },
): Promise<CommandRecord | null> =>
  context.store.get(commands, tenant, id).then((row) =>
    row && settleCommand(context, tenant, {
      id,
      agentId: row.agent_id,
      record: null,
      fresh: false,
      from: [from],
      cancelledBy: ending.by ?? null,
    }, ending)
  );
