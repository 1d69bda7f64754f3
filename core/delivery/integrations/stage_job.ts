import type { Tenant } from "../../../kv/store/collection.ts";
import { integrationJobs, type IntegrationRecord } from "../../../kv/records/integration.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import type { ServiceRequest } from "./service.ts";

/** How long a job and its outcome stay in the store. */
const JOB_KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** An event to send. */
interface Sent {
  readonly seq: number;
  readonly json: string;
  /** Its place in the queue: not before that of an earlier event, whichever instance staged that. */
  readonly placeMs: number;
}

/** Stages a job of an integration in the transaction: to send an event, or a revocation. */
export function stageJob(
  { ports, sealer, signals }: Pick<Context, "ports" | "sealer" | "signals">,
  tx: Tx,
  tenant: Tenant,
  { id: integration_id, type }: IntegrationRecord,
  what: Sent | ServiceRequest,
): void {
  const now = ports.clock.now();
  const id = ports.entropy.id("ijb");
  const event = "seq" in what ? what : null;
  tx.insert(integrationJobs, tenant, {
    id,
    integration_id,
    type,
    event: event?.json ?? null,
    ...(event !== null && { seq: event.seq }),
    sealed_request: event === null ? sealer.seal(JSON.stringify(what), id) : null,
    attempt: 0,
    status: "waiting",
    error: null,
    created_at_ms: now,
    due_at_ms: event?.placeMs ?? now,
    expires_at_ms: now + JOB_KEPT_MS,
  });
  tx.afterCommit(() => signals.integrationDue.send(tenant));
}
