import { apiKeys } from "../../../kv/records/api_key.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Stepping } from "../../work/work.ts";
import { iso } from "../../codec/instant.ts";
import { isFirstWithin, notifyAdministrators } from "../people/notify.ts";

/** Events of changes that decide what commands may do, and who may do what. */
const WEIGHTY = /^(?:shield|self_approval|patterns|policy|repository|role)_/;
const TOLD_AGAIN_MS = 10 * 60 * 1000;

/**
 * Tells administrators that the old value of a rotated key changed the shield, policies or roles, with that
 * change: whoever still has it may be the one it was rotated against. Each kind of change is told once in
 * ten minutes, so that one key cannot push other notifications out.
 */
export async function tellOfOldValue(
  { app, actor, request }: Pick<Stepping, "app" | "actor" | "request">,
  tx: Tx,
): Promise<void> {
  const { key, tenant, id } = actor;
  if (!key?.oldUntilMs) return;
  const record = await tx.get(apiKeys, tenant, id);
  for (const change of tx.eventTypes()) {
    if (!WEIGHTY.test(change)) continue;
    if (!await isFirstWithin(app, tx, tenant, `${id} old value ${change}`, TOLD_AGAIN_MS)) continue;
    await notifyAdministrators(app, tx, tenant, {
      type: "old_key_value_used",
      resource: { type: "api_key", id },
      details: {
        name: record?.name ?? id,
        change,
        address: request.address,
        works_until: iso(key.oldUntilMs),
        request_id: request.id,
      },
    });
  }
}
