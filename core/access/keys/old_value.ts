import { apiKeys } from "../../../kv/records/api_key.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Stepping } from "../../work/work.ts";
import type { Context } from "../../context/context.ts";
import { iso } from "../../codec/codec.ts";
import { isFirstWithin, notifyAdministrators } from "../people/notify.ts";

/** Events of changes to the shield, to policies and to roles. */
const SENSITIVE = /^(?:shield|self_approval|patterns|policy|repository|role)_/;
const REPEAT_MS = 10 * 60 * 1000;

/**
 * Notifies administrators when the old value of a rotated key changes the shield, policies or roles, in the same
 * commit: the key may have been rotated because that value leaked. Each kind of change is reported once in ten
 * minutes, so that one key cannot push other notifications out.
 */
export async function notifyOfOldValue(
  context: Pick<Context, "store" | "ports" | "signals"> & Pick<Stepping, "actor" | "request">,
  tx: Tx,
): Promise<void> {
  const { actor: { key, tenant, id }, request } = context;
  if (!key?.oldUntilMs) return;
  const record = await tx.get(apiKeys, tenant, id);
  for (const change of tx.eventTypes()) {
    if (!SENSITIVE.test(change)) continue;
    if (!await isFirstWithin(context, tx, tenant, `${id} old value ${change}`, REPEAT_MS)) continue;
    await notifyAdministrators(context, tx, tenant, {
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
