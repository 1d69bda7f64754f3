import { z } from "zod";
import { collection } from "../store/collection.ts";
import { Idempotency, keyOfCaller } from "./idempotency.ts";

/** Why a fleet command starts no further commands. */
const Stop = z.strictObject({
  reason: z.enum(["cancelled", "failures", "relay_stopped"]),
  /** Who cancelled it; null for the relay itself. */
  by: z.string().nullable(),
  at_ms: z.number(),
});
export type FleetStop = z.infer<typeof Stop>;

/**
 * One command for many agents. Its commands are rows of their own, which name it as their parent; their number by
 * status is counted from those rows. Its own row changes rarely, because the commit that starts a command checks it.
 */
const FleetCommandRecord = z.strictObject({
  id: z.string(),
  command: z.string(),
  timeout_ms: z.int(),
  /** How many commands run at once. */
  parallel: z.int(),
  /** After so many failures no further command starts; null for any number. */
  stop_after_failures: z.int().nullable(),
  /** How many commands it has. */
  total: z.int(),
  /** `preparing` until all its commands are recorded; none starts before. */
  status: z.enum(["preparing", "running", "ended"]),
  stop: Stop.nullable(),
  /** The instance that starts its commands. */
  owner: z.string(),
  /** The requests for approval of the commands that were held. */
  approvals: z.array(z.string()),
  actor: z.string(),
  /** The person behind the actor. */
  user_id: z.string(),
  request_id: z.string(),
  /** The alert that it answers. */
  alert_id: z.string().optional(),
  idempotency: Idempotency.nullable(),
  created_at_ms: z.number(),
  finished_at_ms: z.number().nullable(),
  expires_at_ms: z.number(),
});
export type FleetCommandRecord = z.infer<typeof FleetCommandRecord>;

export const fleetCommands = collection({
  name: "fleet_commands",
  schema: FleetCommandRecord,
  expiresAt: (fleet) => fleet.expires_at_ms,
  queue: { open: (fleet) => fleet.status === "ended" ? null : [fleet.owner] },
  unique: {
    idempotency: (fleet) => fleet.idempotency && keyOfCaller(fleet.actor, fleet.idempotency.key),
  },
});

/** The agents that a request for approval covers. */
export const approvedAgents = collection({
  name: "approved_agents",
  schema: z.strictObject({
    /** The id of the request. */
    id: z.string(),
    /** In ascending order. */
    agent_ids: z.array(z.string()),
    expires_at_ms: z.number(),
  }),
  expiresAt: (agents) => agents.expires_at_ms,
});
