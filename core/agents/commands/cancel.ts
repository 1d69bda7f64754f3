import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { agents } from "../../../kv/records/agent.ts";
import { ownedAgent } from "../manage.ts";
import type { Context } from "../../context/context.ts";
import { Fault } from "../../fault/fault.ts";
import { within } from "../../ports/ports.ts";
import type { Stepping } from "../../work/work.ts";
import { withdrawCommand } from "../approvals/withdraw.ts";
import { withCommandId } from "./command_fault.ts";
import type { CommandParts } from "./parts.ts";
import { ownedCommand, showCommand } from "./show.ts";

/** How long a cancellation waits for the end of the command. */
const CANCEL_WAIT_MS = 5_000;

/**
 * Withdraws a command that waits, or asks the agent to end it and waits a moment for that.
 * @throws {Fault} AGENT_NOT_FOUND, NOT_FOUND, CONFLICT when it has ended, UNAVAILABLE when its link is closed
 */
export async function cancelCommand(
  work: Stepping,
  parts: Pick<CommandParts, "commands" | "elsewhere" | "links">,
  agentId: string,
  id: string,
) {
  const record = await ownedCommand(work, parts.commands, agentId, id);
  return await withCommandId(id, () => cancel(work, parts, record));
}

/** Asks for the end of a running command whose caller has left, at whichever instance it runs. */
export async function abandonCommand(
  { commands, elsewhere, links, store }:
    & Pick<Context, "store">
    & Pick<CommandParts, "commands" | "elsewhere" | "links">,
  tenant: Tenant,
  { id, agent_id }: CommandRecord,
  by: string,
): Promise<void> {
  if (commands.cancel(id, by)) return;
  const agent = await store.get(agents, tenant, agent_id);
  const holder = agent && links.holder(agent);
  if (holder !== null) await elsewhere.cancel(tenant, id, holder, by);
}

async function cancel(
  work: Stepping,
  parts: Pick<CommandParts, "commands" | "elsewhere" | "links">,
  record: CommandRecord,
): Promise<Awaited<ReturnType<typeof showCommand>>> {
  const { commands: running, elsewhere, links } = parts;
  const { actor, ports, store } = work;
  const { id } = record;
  if (record.status === "pending_approval" || record.status === "queued") {
    const withdrawn = await withdrawCommand(work, record);
    if (withdrawn !== null) return await showCommand(store, actor.tenant, withdrawn);
    // It was approved, sent or ended since it was read.
    const now = await ownedCommand(work, running, record.agent_id, id);
    if (now.status !== record.status) return await cancel(work, parts, now);
  }
  if (record.status !== "running") {
    const { status } = record;
    throw new Fault("CONFLICT", `The command is already ${status}.`, { status });
  }
  const { tenant } = actor;
  const holder = links.holder(await ownedAgent(work, record.agent_id));
  const done = running.cancel(id, actor.id)
    ? running.waitFor(id)
    : holder === null
    ? null
    : (await elsewhere.cancel(tenant, id, holder, actor.id))?.done;
  if (!done) {
    // It may have ended at another instance since it was read.
    const now = await ownedCommand(work, running, record.agent_id, id);
    if (now.status !== "running") return await cancel(work, parts, now);
    throw new Fault("UNAVAILABLE", "The link of the command's agent is closed. Try again.");
  }
  const ended = await within(ports.clock, CANCEL_WAIT_MS, done);
  return await showCommand(store, actor.tenant, ended ?? record);
}
