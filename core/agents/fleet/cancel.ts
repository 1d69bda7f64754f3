import { fleetCommands } from "../../../kv/records/command.ts";
import { Fault } from "../../fault/fault.ts";
import type { Finding } from "../commands/list.ts";
import type { SettlementContext } from "../commands/settle.ts";
import { countsOf, statusOf } from "./counts.ts";
import { ownedFleetCommand } from "./show.ts";

/**
 * Cancels a fleet command: its commands that have not started do not start, and those that run are asked to end. The
 * instance that drives it does so after the commit.
 * @throws {Fault} NOT_FOUND, CONFLICT when it has ended
 */
export async function cancelFleetCommand(
  { actor, ports, signals, store }: SettlementContext & Pick<Finding, "actor">,
  id: string,
): Promise<void> {
  const { tenant } = actor;
  await store.transact(async (tx) => {
    const fleet = await ownedFleetCommand({ db: tx, actor }, id);
    if (fleet.status === "ended") {
      const status = statusOf(fleet, await countsOf(store, tenant, id));
      throw new Fault("CONFLICT", `The fleet command is already ${status}.`, { status });
    }
    if (fleet.stop?.reason === "cancelled") return;
    const stop = { reason: "cancelled", by: actor.id, at_ms: ports.clock.now() } as const;
    tx.put(fleetCommands, tenant, { ...fleet, stop });
    tx.afterCommit(() => signals.fleetCommandChanged.send({ tenant, id }));
  });
}
