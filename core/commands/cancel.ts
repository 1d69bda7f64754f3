import type { CommandRecord } from "../../kv/records/command.ts";
import { Fault } from "../fault/fault.ts";
import { within } from "../ports/ports.ts";
import type { Stepping } from "../work/work.ts";
import { withdrawCommand } from "./approvals/withdraw.ts";
import { withCommandId } from "./command_fault.ts";
import type { RunningCommands } from "./running_commands.ts";
import { ownedCommand, showCommand } from "./show.ts";

/** How long a cancellation waits for the end of the command. */
const CANCEL_WAIT_MS = 5_000;

/**
 * Withdraws a command that waits, or asks the agent to end it and waits a moment for that.
 * @throws {Fault} AGENT_NOT_FOUND, NOT_FOUND, CONFLICT when it has ended, UNAVAILABLE when it runs elsewhere
 */
export async function cancelCommand(
  work: Stepping,
  running: RunningCommands,
  agentId: string,
  id: string,
) {
  const record = await ownedCommand(work, running, agentId, id);
  return await withCommandId(id, () => cancel(work, running, record));
}

async function cancel(work: Stepping, running: RunningCommands, record: CommandRecord) {
  const { actor, ports, store } = work;
  const { id } = record;
  if (record.status === "pending_approval" || record.status === "queued") {
    const withdrawn = await withdrawCommand(work, record);
    if (withdrawn !== null) return await showCommand(store, actor.tenant, withdrawn);
  }
  if (record.status !== "running") {
    const { status } = record;
    throw new Fault("CONFLICT", `The command is already ${status}.`, { status });
  }
  const done = running.waitFor(id);
  if (!running.cancel(id, actor.id)) {
    const message = "The command runs on another instance, or its link is closed. Try again.";
    throw new Fault("UNAVAILABLE", message);
  }
  const ended = done && await within(ports.clock, CANCEL_WAIT_MS, done);
  return await showCommand(store, actor.tenant, ended ?? record);
}
