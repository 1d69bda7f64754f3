import type { Tenant } from "../../../kv/store/collection.ts";
import type { EventLog } from "../../../kv/log/log.ts";
import { Fault } from "../../fault/fault.ts";

/**
 * Checks that the log still has every event after `after`, up to its last number `head`.
 * @throws {Fault} GONE with the number to continue from as `details.next`
 */
export async function mustResumeFrom(
  log: Pick<EventLog, "read">,
  tenant: Tenant,
  after: number,
  head: number,
): Promise<void> {
  if (after > head) {
    const message =
      `The log ends at ${head}, before ${after}: a backup was restored, or the number belongs ` +
      `to another log. Continue from ${head}, or from a lower number to see what happened ` +
      "since the backup.";
    throw new Fault("GONE", message, { head, next: head });
  }
  // A reader that starts at 0 asks for whatever is kept.
  if (after === 0 || after === head) return;
  const [first] = await log.read(tenant, after, 1);
  const next = (first?.seq ?? head) - 1;
  if (next === after) return;
  const message = `The events after ${after} are past their retention. Continue from ${next}.`;
  throw new Fault("GONE", message, { head, next });
}
