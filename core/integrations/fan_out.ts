import type { Tenant } from "../../kv/store/collection.ts";
import type { Step } from "../../kv/log/follow.ts";
import type { Sequenced } from "../../kv/log/log.ts";
import { type IntegrationRecord, integrations } from "../../kv/records/integration.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import type { EventRow } from "../events/events.ts";
import { personRights } from "../access/roles/grant.ts";
import { actsFor } from "../access/standing/suspension.ts";
import { createJob } from "./stage_job.ts";
import { INTEGRATIONS_MAX } from "./installed.ts";
import { isTold, messageOf, topicOf } from "./messages.ts";

/** What one commit creates: jobs have keys of about 500 bytes each, and an atomic takes 80 KiB of them. */
const CREATED_MAX = 80;
const CREATED_BYTES_MAX = 400_000;

/** One job for each integration that an event is for; long lists take several commits. */
export async function fanOut(
  app: App,
  tx: Tx,
  tenant: Tenant,
  events: readonly Sequenced[],
  part: string,
): Promise<Step> {
  const { items } = await tx.list(integrations, tenant, { limit: 2 * INTEGRATIONS_MAX });
  let made = 0, bytes = 0, done = 0, lastId = part;
  for (const { seq, type, json } of events) {
    if (isTold(type)) {
      const row = JSON.parse(json) as EventRow;
      for (const record of items.filter(({ id, after_seq }) => id > lastId && after_seq < seq)) {
        if (!await isFor(app, tenant, record, row)) continue;
        const weight = 2 * json.length;
        if (made === CREATED_MAX || made > 0 && bytes + weight > CREATED_BYTES_MAX) {
          return { done, part: lastId };
        }
        createJob(app, tx, tenant, record, json);
        made++;
        bytes += weight;
        lastId = record.id;
      }
    }
    lastId = "";
    done++;
  }
  return { done, part: "" };
}

/** True when the integration is told of such events, and the person for whom it acts may read them now. */
export async function isFor(
  app: App,
  tenant: Tenant,
  record: IntegrationRecord,
  row: EventRow,
): Promise<boolean> {
  const topic = topicOf(row.event_type);
  const topics = record.config.topics as readonly string[] | undefined;
  if (topic === null || !topics?.includes(topic.topic)) return false;
  if (messageOf(row, "") === null) return false;
  return (await personRights(app.store, tenant.org, actsFor(record))).has(topic.scope);
}
