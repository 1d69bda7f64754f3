import { mustCover } from "../keys/owned.ts";
import { credentialInHand } from "../keys/made_with.ts";
import type { Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { giverOf } from "../roles/grant.ts";
import type { StandingKind, StandingRecord } from "./kinds.ts";
import { actsFor, suspensionOf } from "./suspension.ts";

/**
 * Adopts something suspended: from now on it acts with the caller's rights. `renewed` applies further changes to
 * its record.
 * @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES, FORBIDDEN, CONFLICT if it is not suspended
 */
export async function adopt<T extends StandingRecord>(
  work: Writing,
  kind: StandingKind<T>,
  id: string,
  renewed: (record: T) => T = (record) => record,
): Promise<T> {
  const { actor, tx } = work;
  const { rights } = await giverOf(work);
  const record = await tx.get(kind.of, actor.tenant, id);
  if (record === null) {
    throw new Fault("NOT_FOUND", `There is no such ${kind.resource.replace("_", " ")}.`);
  }
  mustCover(
    rights,
    kind.needs(record),
    "You cannot adopt it, because it acts with rights that you do not have.",
  );
  const before = actsFor(record);
  if (await suspensionOf(tx, actor.tenant, kind, record) === null) {
    throw new Fault("CONFLICT", `It acts for ${before} and is not suspended.`);
  }
  const adopted = tx.put(kind.of, actor.tenant, {
    ...renewed(record),
    created_with: await credentialInHand(work),
    standing: { adopted_by: actor.userId, told: null },
  });
  emit(work, tx, actor.tenant, {
    type: "standing_adopted",
    resource: { type: kind.resource, id },
    details: { name: record.name, acted_for: before, acts_for: actor.userId },
  });
  return adopted;
}
