import type { Tenant } from "../../../kv/store/collection.ts";
import type { App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";

/**
 * Holds a reader by numbers to what the log has: everything behind its number, up to `head`.
 * @throws {Fault} GONE with the number to go on from as `details.next`
 */
export async function mustFollow(
  { log }: Pick<App, "log">,
  tenant: Tenant,
  after: number,
  head: number,
): Promise<void> {
  if (after > head) {
    const message =
      `The log ends at ${head}, before ${after}: a backup was put back, or the number is from ` +
      `elsewhere. Go on from ${head}, or from less for what happened meanwhile.`;
    throw new Fault("GONE", message, { head, next: head });
  }
  // Who begins at 0 asks for what there is.
  if (after === 0 || after === head) return;
  const [first] = await log.read(tenant, after, 1);
  const next = (first?.seq ?? head) - 1;
  if (next === after) return;
  const message = `What follows ${after} is over its retention. Go on from ${next}.`;
  throw new Fault("GONE", message, { head, next });
}
