import type { Tenant } from "../../kv/store/collection.ts";
import { integrationJobs, type IntegrationRecord } from "../../kv/records/integration.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import type { ServiceRequest } from "./service.ts";

/** What became of a job can be looked at for so long. */
const JOB_KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** Puts on record what an integration has to do: to tell of an event, given as JSON, or to send a revocation. */
export function createJob(
  app: App,
  tx: Tx,
  tenant: Tenant,
  { id: integration_id, type }: IntegrationRecord,
  what: string | ServiceRequest,
): void {
  const now = app.ports.clock.now();
  const id = app.ports.entropy.id("ijb");
  const isEvent = typeof what === "string";
  tx.insert(integrationJobs, tenant, {
    id,
    integration_id,
    type,
    event: isEvent ? what : null,
    sealed_request: isEvent ? null : app.sealer.seal(JSON.stringify(what), id),
    attempt: 0,
    status: "waiting",
    error: null,
    created_at_ms: now,
    due_at_ms: now,
    expires_at_ms: now + JOB_KEPT_MS,
  });
  tx.afterCommit(() => app.integrations.wake());
}
