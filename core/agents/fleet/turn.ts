import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import {
  type CommandRecord,
  commands,
  type FleetCommandRecord,
  fleetCommands,
  isOpen,
} from "../../../kv/records/command.ts";
import { isWithin } from "../../../kv/store/clock.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { changeSince } from "../approvals/changed.ts";
import type { Turn } from "../commands/beginnings.ts";
import { mayStart } from "../commands/start_window.ts";
import { shieldInForce } from "../guard/in_force.ts";
import { type DriveParts, endUnsent } from "./parts.ts";

/**
 * How long an agent whose link broke has time to come back. The instance of a link has as long to claim a command: one
 * that has died claims none, and counts as alive for up to 20 s.
 */
const RECONNECT_MS = 30_000;
/** How long the claim of a command may take. */
const CLAIM_MS = 5_000;

/** The link for which a command was handed over, and since when. */
export interface HandedOver {
  readonly link: number;
  readonly sinceMs: number;
}

/** What came of a command's turn. */
export type Outcome =
  /** It runs, here or at another instance, or may be claimed; resolves with its end, or while it is open. */
  | { readonly done: Promise<CommandRecord> }
  /** It has ended, or is gone. */
  | { readonly ended: CommandRecord | null }
  /** Its agent is being waited for, or something changed meanwhile. */
  | "later";

/**
 * Starts a waiting command of a fleet command. The commit that does so checks that this instance still drives the
 * fleet command, and that nobody stopped it. The shield judged the command when it was asked for; what has changed
 * since counts. `handedOver` remembers which commands other instances were asked to claim.
 */
export async function takeTurn(
  parts: DriveParts,
  tenant: Tenant,
  fleet: FleetCommandRecord,
  id: string,
  handedOver: Map<string, HandedOver>,
): Promise<Outcome> {
  const { commands: running, elsewhere, links, policyCache, ports, store } = parts;
  const record = await store.get(commands, tenant, id);
  if (record === null || !isOpen(record)) return { ended: record };
  const fail = async (why: string) => ({
    ended: await endUnsent(parts, tenant, id, "queued", { status: "failed", why }),
  });
  const agent = await store.get(agents, tenant, record.agent_id);
  if (agent === null) return await fail("its agent was deleted");
  const link = links.of(tenant, agent.id), holder = links.holder(agent);
  const nowMs = ports.clock.now();
  if (link === undefined && holder === null) {
    return mayComeBack(agent, nowMs) ? "later" : await fail("its agent is not connected");
  }
  const shield = await shieldInForce(store, tenant);
  if (record.approval_id === null) {
    const asked = { requested_by: fleet.actor, requested_user: fleet.user_id };
    const approval = { command: record.command, ...asked, required: 0, roles: [] };
    const now = { approval, agent, shield, nowMs };
    const change = await changeSince(store, tenant, policyCache, now);
    if (change !== null) return await fail(`${change}; ask for it again`);
  }
  const turn = turnOf(parts, tenant, fleet.id, shield.version);
  if (link === undefined) {
    const known = handedOver.get(id);
    const { sinceMs } = known?.link === agent.link ? known : { sinceMs: nowMs };
    if (!isWithin(sinceMs, RECONNECT_MS, nowMs)) return await fail(NOT_CLAIMED);
    handedOver.set(id, { link: agent.link, sinceMs });
    return await elsewhere.handOverTurn(tenant, record, holder!, turn) ?? "later";
  }
  // A claim by an approval makes as many checks as a shared store takes, so its turn has a commit of its own.
  const apart = record.approval_id !== null && !store.sole;
  if (apart && !await recordTurn(parts, tenant, id, turn)) return "later";
  const taken = await running.take(tenant, id, link, apart ? undefined : turn);
  // Once it is released, an instance to which its agent has moved may claim it.
  if (taken === null) return apart ? { done: Promise.resolve(record) } : "later";
  return { done: running.start(tenant, taken.record, taken.begun, link) };
}

/** Releases a command, so that it can be claimed. One that nobody claims in time has another turn. */
const recordTurn = ({ store }: DriveParts, tenant: Tenant, id: string, turn: Turn) =>
  store.transact(async (tx) => {
    const row = await tx.get(commands, tenant, id);
    const ready = row && await turn(tx, row);
    if (ready !== null) tx.put(commands, tenant, ready);
    return ready !== null;
  });

const NOT_CLAIMED = "the instance that holds its agent's link did not take it in time, so it was " +
  "not sent; it is safe to ask again";

/** Takes back a released command that nobody claimed in time, so that it has another turn. */
export async function takeBack({ ports, store }: DriveParts, tenant: Tenant, id: string) {
  return await store.transact(async (tx) => {
    const row = await tx.get(commands, tenant, id);
    const released = row?.status === "queued" && row.start_before_ms !== null;
    if (!released || mayStart(row, ports.clock.now())) return row;
    return tx.put(commands, tenant, { ...row, start_before_ms: null });
  });
}

/** False for an agent that is not expected soon. After a restart of the relay, agents count as linked for a minute. */
const mayComeBack = ({ status, lost_at_ms }: AgentRecord, nowMs: number): boolean =>
  status !== "offline" || lost_at_ms !== null && isWithin(lost_at_ms, RECONNECT_MS, nowMs);

const turnOf =
  ({ instance, ports }: DriveParts, tenant: Tenant, parentId: string, version: string): Turn =>
  async (tx, row) => {
    const fleet = await tx.get(fleetCommands, tenant, parentId);
    const mine = fleet?.status === "running" && fleet.owner === instance && fleet.stop === null;
    if (!mine || row.status !== "queued" || row.start_before_ms !== null) return null;
    return {
      ...row,
      start_before_ms: ports.clock.now() + CLAIM_MS,
      policy_version: row.approval_id === null ? version : row.policy_version,
    };
  };
