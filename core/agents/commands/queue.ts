import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { everyQueued } from "../../../kv/store/iterate.ts";
import { type CommandRecord, commands } from "../../../kv/records/command.ts";
import type { Link } from "../links/link.ts";
import type { Links } from "../links/links.ts";
import type { Background } from "../../ports/ports.ts";
import type { RunningCommands } from "./running_commands.ts";
import { settleCommand, type SettlementContext } from "./settle.ts";
import { mayStart } from "./start_window.ts";

const BATCH_MAX = 100;

/** The parts that send queued commands. */
export interface QueueParts extends SettlementContext {
  readonly links: Pick<Links, "of">;
  readonly commands: RunningCommands;
}

/** Sends an agent's queued commands in the background, if this process holds its link. */
export function startQueued(
  parts: QueueParts & { readonly background: Background },
  tenant: Tenant,
  agentId: string,
): void {
  if (parts.links.of(tenant, agentId) === undefined) return;
  parts.background.run(
    "sending approved commands",
    () => sendQueued(parts, [agentId], (at) => tenantKey(at) === tenantKey(tenant)),
  );
}

/** Sends a command that another instance queued for an agent that is linked here. */
export async function startHandedOver(
  { links, commands }: QueueParts,
  tenant: Tenant,
  { id, agentId }: { readonly id: string; readonly agentId: string },
): Promise<void> {
  const link = links.of(tenant, agentId);
  if (link !== undefined) await take(commands, tenant, id, link);
}

/** Sends the queued commands of agents that are linked here, and ends those that waited too long. */
export async function sweepQueued(parts: QueueParts): Promise<void> {
  await sendQueued(parts, [], () => true);
}

async function sendQueued(
  parts: QueueParts,
  prefix: readonly string[],
  wanted: (tenant: Tenant) => boolean,
): Promise<void> {
  const all = everyQueued(parts.store, commands, "queued", { prefix, limit: BATCH_MAX });
  for await (const { tenant, record } of all) {
    if (wanted(tenant)) await send(parts, tenant, record);
  }
}

async function send(parts: QueueParts, tenant: Tenant, record: CommandRecord): Promise<void> {
  const { links, commands, ports } = parts;
  const { id, agent_id: agentId } = record;
  if (!mayStart(record, ports.clock.now())) {
    // One of a fleet command has another turn.
    if (record.parent_id !== undefined) return;
    const open = { id, agentId, record, fresh: false, from: ["queued"] } as const;
    const why = "its agent did not connect in time";
    await settleCommand(parts, tenant, open, { status: "failed", why });
    return;
  }
  const link = links.of(tenant, agentId);
  if (link !== undefined) await take(commands, tenant, id, link);
}

async function take(commands: RunningCommands, tenant: Tenant, id: string, link: Link) {
  const taken = await commands.take(tenant, id, link);
  if (taken !== null) commands.start(tenant, taken.record, taken.begun, link).catch(() => {});
}
