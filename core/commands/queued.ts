import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { everyQueued } from "../../kv/store/iterate.ts";
import { type CommandRecord, commands } from "../../kv/records/command.ts";
import type { App } from "../work/work.ts";
import { settleCommand } from "./settle.ts";

/** An approved command that could not be sent for this long is not sent any more. */
export const START_WITHIN_MS = 10 * 60 * 1000;
const BATCH_MAX = 100;

/** Whether it may still be sent: one that may for much longer was approved by a clock that was ahead. */
export function mayStart({ start_before_ms }: CommandRecord, nowMs: number): boolean {
  const leftMs = (start_before_ms ?? 0) - nowMs;
  return leftMs > 0 && leftMs <= 2 * START_WITHIN_MS;
}

/** Sends what waits for an agent, if this process holds its link. */
export function startQueued(app: App, tenant: Tenant, agentId: string): void {
  if (app.links.of(tenant, agentId) === undefined) return;
  sendWaiting(app, [agentId], (at) => tenantKey(at) === tenantKey(tenant)).catch((error) =>
    app.ports.log.error("approved commands could not be sent", { error: String(error) })
  );
}

/** Sends what waits for any agent that is linked here, and gives up what has waited too long. */
export async function sweepQueued(app: App): Promise<void> {
  await sendWaiting(app, [], () => true);
}

async function sendWaiting(
  app: App,
  prefix: readonly string[],
  wanted: (tenant: Tenant) => boolean,
): Promise<void> {
  const all = everyQueued(app.store, commands, "queued", { prefix, limit: BATCH_MAX });
  for await (const { tenant, record } of all) {
    if (wanted(tenant)) await send(app, tenant, record);
  }
}

async function send(app: App, tenant: Tenant, record: CommandRecord): Promise<void> {
  const { id, agent_id: agentId } = record;
  if (!mayStart(record, app.ports.clock.now())) {
    const open = { id, agentId, record, fresh: false, queued: true } as const;
    const why = "it was approved, and its agent was not connected in time";
    await settleCommand(app, tenant, open, { status: "failed", why });
    return;
  }
  const link = app.links.of(tenant, agentId);
  const taken = link && await app.commands.take(tenant, id);
  if (taken) app.commands.start(tenant, taken.record, taken.begun, link).catch(() => {});
}
