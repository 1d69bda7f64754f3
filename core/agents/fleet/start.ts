import { grantMember } from "../commands/asked_by.ts";
import type { FleetCommandRecord } from "../../../kv/records/command.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { type Limiter, tooMany } from "../../access/access.ts";
import { canonicalJson } from "../../codec/codec.ts";
import { Fault } from "../../fault/fault.ts";
import {
  checkIdempotencyKey,
  digestOfCall,
  earlierCall,
  once,
  type Stepping,
} from "../../work/work.ts";
import { shieldInForce } from "../guard/in_force.ts";
import type { CommandParts } from "../commands/parts.ts";
import { COMMAND_KEYS, FLEET_KEYS, insertFleetCommand } from "../commands/keys.ts";
import { mustHaveAlert } from "../commands/thread.ts";
import type { FleetCommands } from "./fleet_commands.ts";
import { endUnsent } from "./parts.ts";
import { forEach } from "../at_once.ts";
import { membersOf, type Plan, planCommands, type Planned } from "./plan.ts";
import { activate, recordCommands } from "./record.ts";
import { selectAgents, type Selector } from "./select.ts";

/** The parts that start fleet commands. */
interface FleetParts extends CommandParts {
  readonly fleetCommands: FleetCommands;
  /** The id of this process. */
  readonly instance: string;
  readonly limiter: Pick<Limiter, "takeForCommands">;
}

/** The command that a caller wants to run on many agents. */
export interface FleetRequest {
  readonly selector: Selector;
  readonly command: string;
  readonly timeoutMs: number;
  readonly parallel: number;
  readonly stopAfterFailures: number | null;
  readonly alertId?: string | undefined;
}

/**
 * Starts a command on many agents: judges it for each, records all, and then starts them a few at a time. Repeated
 * with its Idempotency-Key it returns the first one.
 * @throws {Fault} AGENT_NOT_FOUND, NOT_FOUND for the alert, VALIDATION_FAILED, CONFLICT, UNAVAILABLE
 */
export async function startFleetCommand(
  work: Stepping,
  parts: FleetParts,
  request: FleetRequest,
): Promise<FleetCommandRecord> {
  const idempotency = idempotencyOf(work, request);
  const first = () => startNew(work, parts, request, idempotency);
  if (idempotency === null) return await first();
  await earlierCall(COMMAND_KEYS, work.db, work.actor, idempotency);
  const find = () => earlierCall(FLEET_KEYS, work.db, work.actor, idempotency);
  return await once(FLEET_KEYS, {
    find,
    repeat: async (earlier) => {
      await parts.fleetCommands.whenRecorded(earlier.id);
      const now = await find();
      if (now !== null && now.status !== "preparing") return now;
      const message = "This fleet command is still being recorded. Try again.";
      throw new Fault("UNAVAILABLE", message, { retry_after: 1 });
    },
    first,
  });
}

async function startNew(
  work: Stepping,
  parts: FleetParts,
  request: FleetRequest,
  idempotency: FleetCommandRecord["idempotency"],
): Promise<FleetCommandRecord> {
  const { actor, config, ports, store } = work;
  const agents = await selectAgents(work.db, actor.tenant, request.selector);
  if (request.alertId !== undefined) await mustHaveAlert(work, request.alertId);
  const shield = await shieldInForce(work.db, actor.tenant);
  const nowMs = ports.clock.now();
  const fleet: FleetCommandRecord = {
    id: ports.entropy.id("flt"),
    command: request.command,
    timeout_ms: request.timeoutMs,
    parallel: request.parallel,
    stop_after_failures: request.stopAfterFailures,
    total: agents.length,
    status: "preparing",
    stop: null,
    owner: parts.instance,
    approvals: [],
    actor: actor.id,
    user_id: actor.userId,
    request_id: work.request.id,
    ...work.request.trace?.carried,
    ...grantMember(actor),
    ...(request.alertId !== undefined && { alert_id: request.alertId }),
    idempotency,
    created_at_ms: nowMs,
    finished_at_ms: null,
    expires_at_ms: nowMs + config().retention_days.commands * DAY_MS,
  };
  return await parts.fleetCommands.whileRecording(fleet.id, async () => {
    const plan = await planCommands(work, parts, fleet, agents, shield);
    const kept = { ...fleet, expires_at_ms: firstExpiryOf(plan) };
    await store.transact((tx) => insertFleetCommand(tx, actor.tenant, kept));
    await recordCommands(work, kept, plan);
    const { waiting, refused } = await withinLimits(work, parts, plan);
    const begun = await activate(work, kept, plan, shield);
    parts.fleetCommands.begin(actor.tenant, begun, waiting, refused);
    return begun;
  });
}

/** When the first of its commands expires: a fleet command is kept as long as its totals are whole. */
const firstExpiryOf = (plan: Plan): number =>
  Math.min(...membersOf(plan).map(({ fresh }) => fresh.expires_at_ms));

/**
 * Charges the limits for each command. Fails those that a limit refuses, and returns their number and the others that
 * were allowed.
 */
async function withinLimits(
  work: Stepping,
  { limiter }: FleetParts,
  plan: Plan,
): Promise<{ readonly waiting: string[]; readonly refused: number }> {
  const { actor, ports } = work;
  const { allowed } = plan;
  // The request itself was charged as one. What the shield denied costs the same.
  const { admitted, refusal } = await limiter.takeForCommands(actor, membersOf(plan).length - 1);
  if (refusal === null) return { waiting: idsOf(allowed), refused: 0 };
  const why = tooMany(refusal, ports.clock.now()).message;
  const refused = membersOf({ ...plan, denied: [] }).slice(admitted + 1);
  await forEach(refused, async ({ fresh: { id }, judgement }) => {
    const from = judgement.result.verdict === "approve" ? "pending_approval" : "queued";
    await endUnsent(work, actor.tenant, id, from, { status: "failed", why });
  });
  return { waiting: idsOf(allowed.slice(0, admitted + 1)), refused: refused.length };
}

const idsOf = (planned: readonly Planned[]): string[] => planned.map(({ fresh: { id } }) => id);

function idempotencyOf(
  { request: { idempotencyKey: key } }: Stepping,
  { selector, command, timeoutMs, parallel, stopAfterFailures, alertId }: FleetRequest,
): FleetCommandRecord["idempotency"] {
  if (key === null) return null;
  checkIdempotencyKey(key);
  const chosen = canonicalJson(selector);
  const how = [timeoutMs, parallel, stopAfterFailures ?? 0, alertId ?? ""];
  return { key, digest: digestOfCall("fleet", chosen, ...how, command) };
}
