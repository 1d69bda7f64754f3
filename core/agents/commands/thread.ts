import { alerts } from "../../../kv/records/alert.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import { Fault } from "../../fault/fault.ts";
import type { Work } from "../../work/work.ts";

/** The alert that a command answers, and the thread that joins both; absent for a command of no alert. */
export type Threaded = Pick<CommandRecord, "alert_id" | "thread">;

/** The thread of a command that answers an alert: the alert's id. */
export const answering = (alertId: string | undefined): Threaded =>
  alertId === undefined ? {} : { alert_id: alertId, thread: alertId };

/** The fields of a record or an answer that say which alert it answers. */
export const threadOf = ({ alert_id, thread }: Threaded): Threaded => ({
  ...(alert_id !== undefined && { alert_id }),
  ...(thread !== undefined && { thread }),
});

/** @throws {Fault} NOT_FOUND when the caller's organization has no such alert */
export async function mustHaveAlert({ db, actor }: Work, id: string): Promise<void> {
  if (await db.get(alerts, actor.tenant, id) !== null) return;
  throw new Fault("NOT_FOUND", "There is no such alert. Check `alert_id`, or leave it out.");
}
