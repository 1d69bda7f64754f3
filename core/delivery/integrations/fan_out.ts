import type { Tenant } from "../../../kv/store/collection.ts";
import type { Step } from "../../../kv/log/follow.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import { type IntegrationRecord, integrations } from "../../../kv/records/integration.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { actsFor, personRights } from "../../access/access.ts";
import type { Notification } from "./service.ts";
import type { Context } from "../../context/context.ts";
import { messageOf } from "./messages.ts";
import { INTEGRATIONS_MAX } from "./record.ts";
import { stageJob } from "./stage_job.ts";
import { isTopicEvent, topicOf } from "./topics.ts";

/** Jobs staged in one commit. Each has about 500 bytes of keys, and an atomic takes 80 KiB of them. */
const JOBS_MAX = 80;
const JOB_BYTES_MAX = 400_000;

/** Stages a job for each integration that receives an event. Long lists take several commits. */
export async function fanOut(
  context: Context,
  tx: Tx,
  tenant: Tenant,
  events: readonly Sequenced[],
  part: string,
  placeMs: number,
): Promise<Step> {
  const { items } = await tx.list(integrations, tenant, { limit: 2 * INTEGRATIONS_MAX });
  let jobs = 0, bytes = 0, done = 0, lastId = part;
  for (const { seq, type, json } of events) {
    if (isTopicEvent(type)) {
      const row = JSON.parse(json) as Notification["event"];
      for (const record of items.filter(({ id, after_seq }) => id > lastId && after_seq < seq)) {
        if (!await receives(context.store, tenant, record, row)) continue;
        const weight = 2 * json.length;
        if (jobs === JOBS_MAX || jobs > 0 && bytes + weight > JOB_BYTES_MAX) {
          return { done, part: lastId };
        }
        stageJob(context, tx, tenant, record, { seq, json, placeMs });
        jobs++;
        bytes += weight;
        lastId = record.id;
      }
    }
    lastId = "";
    done++;
  }
  return { done, part: "" };
}

/** True when the integration subscribes to the event's topic and the person it acts for may read it now. */
export async function receives(
  store: Context["store"],
  tenant: Tenant,
  record: IntegrationRecord,
  row: Notification["event"],
): Promise<boolean> {
  const topic = topicOf(row.event_type);
  const topics = record.config.topics as readonly string[] | undefined;
  if (topic === null || !topics?.includes(topic.topic)) return false;
  if (messageOf(row, "") === null) return false;
  return (await personRights(store, tenant.org, actsFor(record))).has(topic.scope);
}
