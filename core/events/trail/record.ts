import { tenantKey } from "../../../kv/store/collection.ts";
import { Fault } from "../../fault/fault.ts";
import type { Reading, Writing } from "../../work/work.ts";
import { type DetailsOf, eventJson, type EventRow, isOwnEvent } from "../emit.ts";

/** Records a read of the audit trail in the trail itself. */
export async function recordRead<
  T extends
    | "audit_read"
    | "audit_exported"
    | "audit_checkpoint_read"
    | "audit_proof_read"
    | "compliance_evidence_taken"
    | "compliance_report_read",
>(work: Reading, type: T, details: DetailsOf<T>): Promise<void> {
  const { tenant } = work.actor;
  const resource = { type: "audit_log", id: tenantKey(tenant) } as const;
  await work.store.append(tenant, type, eventJson(work, tenant, { type, resource, details }));
}

/**
 * Records a caller's own event in the trail. The caller chooses the actor; `external` and `reported_by` say
 * that the row came from outside and by which credential.
 * @throws {Fault} VALIDATION_FAILED for a type that Relay writes itself
 */
export function registerAuditEvent(
  work: Writing,
  input: { event_type: string; actor?: string | undefined; details: Record<string, unknown> },
): EventRow {
  const { actor, tx } = work;
  if (isOwnEvent(input.event_type) && input.event_type !== "user_login") {
    throw new Fault(
      "VALIDATION_FAILED",
      "Only Relay writes events of this type. Choose another type.",
      {
        issues: [{ path: "body.event_type", message: "is reserved" }],
      },
    );
  }
  const json = eventJson({ ...work, actor: { id: input.actor ?? actor.id } }, actor.tenant, {
    type: input.event_type,
    resource: { type: "external", id: actor.id },
    details: { ...input.details, reported_by: actor.id },
  });
  tx.append(actor.tenant, input.event_type, json);
  return JSON.parse(json);
}
