import type { Tenant } from "../../kv/store/collection.ts";
import {
  type IntegrationJobRecord,
  integrationJobs,
  type IntegrationRecord,
  integrations,
} from "../../kv/records/integration.ts";
import { alerts } from "../../kv/records/alert.ts";
import { approvals } from "../../kv/records/approval.ts";
import type { App } from "../work/work.ts";
import { emit, type EventRow, RELAY_ACTOR } from "../events/events.ts";
import { OutboundError, type OutboundResponse } from "../ports/ports.ts";
import { statusNow } from "../commands/approvals/show.ts";
import { afterFailure, isDue, retryAfterMs, RetryPolicy } from "../webhooks/retry_policy.ts";
import { serviceOf } from "./catalog.ts";
import { isFor } from "./fan_out.ts";
import { configOf, oauthClientOf } from "./installed.ts";
import { originOf } from "./oauth/flow.ts";
import { accessTokenOf } from "./oauth/tokens.ts";
import type { Message, ServiceRequest } from "./service.ts";
import { messageOf } from "./messages.ts";

/** Longer than one attempt's deadline, so that a lease only ends when its process died. */
const LEASE_MS = 30_000;
/** One for all requests of an attempt, of which so many are under way at once: each alert may be one. */
const DEADLINE_MS = 10_000;
const REQUESTS_AT_ONCE = 8;
const RESPONSE_BYTES_KEPT = 4 * 1024;
/** The ladder of webhooks; a service that asks to be left alone is. */
const POLICY = RetryPolicy.parse({ respect_retry_after: true, auto_disable: false });

/** Does a job that is due. */
export async function doJob(app: App, tenant: Tenant, id: string): Promise<void> {
  const job = await claim(app, tenant, id);
  if (job === null) return;
  // Its process died in the last attempt: whether that one arrived, nobody knows.
  const spent = job.attempt > POLICY.max_retries;
  const outcome = spent ? failure("It was lost.") : await attempt(app, tenant, job);
  await settle(app, tenant, job, outcome);
}

/** The lease and the counted attempt are durable before anything is sent. */
async function claim(app: App, tenant: Tenant, id: string): Promise<IntegrationJobRecord | null> {
  const { store, ports: { clock } } = app;
  return await store.transact(async (tx) => {
    const now = clock.now();
    const job = await tx.getStored(integrationJobs, tenant, id);
    if (job === null || job.due_at_ms === null || !isDue(job.due_at_ms, now)) return null;
    if (!store.isLive(integrationJobs, job)) {
      // Or it would stand before the jobs behind it.
      tx.delete(integrationJobs, tenant, id);
      return null;
    }
    return tx.put(integrationJobs, tenant, {
      ...job,
      status: "sending",
      attempt: job.attempt + 1,
      due_at_ms: now + LEASE_MS,
    });
  });
}

/** How an attempt ended. */
type Outcome =
  | { readonly done: true; readonly sent: boolean }
  | {
    readonly done: false;
    readonly error: string;
    readonly status: number | null;
    waitMs: number;
  };

async function attempt(app: App, tenant: Tenant, job: IntegrationJobRecord): Promise<Outcome> {
  const record = await app.store.get(integrations, tenant, job.integration_id);
  const requests = await requestsOf(app, tenant, job, record);
  if (typeof requests === "string") return failure(requests);
  const endsMs = app.ports.clock.now() + DEADLINE_MS;
  const outcomes: Outcome[] = [];
  const waiting = requests.values();
  const sendOn = async () => {
    for (const request of waiting) outcomes.push(await send(app, tenant, job, request, endsMs));
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, sendOn));
  return outcomes.find(({ done }) => !done) ?? { done: true, sent: requests.length > 0 };
}

async function send(
  { ports: { clock, outbound } }: App,
  { org: organization }: Tenant,
  job: IntegrationJobRecord,
  request: ServiceRequest,
  endsMs: number,
): Promise<Outcome> {
  const deadlineMs = endsMs - clock.now();
  if (deadlineMs <= 0) return failure("The service takes too long.");
  try {
    const limits = { organization, deadlineMs, keepBytes: RESPONSE_BYTES_KEPT };
    const response = await outbound.request({ ...request, ...limits });
    const refusal = refusalOf(response, job);
    if (refusal === null) return { done: true, sent: true };
    const { status, headers } = response;
    return failure(refusal, status, retryAfterMs(status, headers["retry-after"], clock.now()));
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return failure(`The service cannot be reached: ${error.message}`);
  }
}

const failure = (error: string, status: number | null = null, waitMs = 0): Outcome => ({
  done: false,
  error,
  status,
  waitMs,
});

function refusalOf(
  response: OutboundResponse,
  { type, event }: IntegrationJobRecord,
): string | null {
  const { status } = response;
  if (status < 200 || status > 299) return `The service answered ${status}.`;
  if (type === undefined) return null;
  return serviceOf({ type }).refusal?.(response, event === null ? "revocation" : "message") ?? null;
}

/** What is sent; a text says what is missing. */
async function requestsOf(
  app: App,
  tenant: Tenant,
  job: IntegrationJobRecord,
  record: IntegrationRecord | null,
): Promise<readonly ServiceRequest[] | string> {
  if (job.sealed_request !== null) return [JSON.parse(app.sealer.open(job.sealed_request, job.id))];
  if (record === null || job.event === null) return [];
  const event = JSON.parse(job.event) as EventRow;
  const written = messageOf(event, originOf(app));
  if (written === null || !await isFor(app, tenant, record, event)) return [];
  if (written.pid !== null && !await waits(app, tenant, written.pid)) return [];
  const message = await asOfNow(app, tenant, written);
  const service = serviceOf(record);
  const config = configOf(app, record);
  const accessToken = accessTokenOf(app, record);
  if (accessToken === null && oauthClientOf(app, record) !== null) {
    return "There is no token: connect the integration.";
  }
  const nowMs = app.ports.clock.now();
  return [service.tell?.(config, { message, event, accessToken, nowMs }) ?? []].flat();
}

/**
 * A message without the alerts that ended or opened again meanwhile: of those another one tells, in
 * whatever order the two are sent.
 */
async function asOfNow({ store }: App, tenant: Tenant, message: Message): Promise<Message> {
  if (message.topic !== "alerts") return message;
  const found = await Promise.all(message.matters.map(({ key }) => store.get(alerts, tenant, key)));
  const isActive = (at: number) => found[at]?.state === "active";
  return { ...message, matters: message.matters.filter(({ over }, at) => over !== isActive(at)) };
}

/** A late request for what was decided meanwhile would come after word of the decision, and never end. */
async function waits(app: App, tenant: Tenant, pid: string): Promise<boolean> {
  const approval = await app.store.get(approvals, tenant, pid);
  return approval !== null && statusNow(approval, app.ports.clock.now()) === "pending";
}

async function settle(
  app: App,
  tenant: Tenant,
  { id, attempt: number }: IntegrationJobRecord,
  outcome: Outcome,
): Promise<void> {
  const now = app.ports.clock.now();
  await app.store.transact(async (tx) => {
    const job = await tx.get(integrationJobs, tenant, id);
    // The lease ran out and somebody else has it: then their outcome counts.
    if (job?.status !== "sending" || job.attempt !== number) return;
    const ladder = app.config().webhooks.retry_delays_seconds;
    const delayMs = outcome.done ? null : afterFailure(
      POLICY,
      number,
      { httpStatus: outcome.status, retryAfterMs: outcome.waitMs },
      ladder,
    ).delayMs;
    const error = outcome.done ? null : outcome.error;
    const over = delayMs === null;
    tx.put(integrationJobs, tenant, {
      ...job,
      status: outcome.done ? "done" : over ? "failed" : "waiting",
      error,
      // Tokens are kept no longer than they are needed.
      sealed_request: over ? null : job.sealed_request,
      due_at_ms: over ? null : now + delayMs,
    });
    if (!over) tx.alarm(delayMs);
    if (!outcome.done && over) {
      emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
        type: "integration_failed",
        resource: { type: "integration", id: job.integration_id },
        details: {
          what: job.event === null ? "revocation" : "message",
          attempts: number,
          error: outcome.error,
        },
      });
    }
    const record = await tx.get(integrations, tenant, job.integration_id);
    if (record === null || outcome.done && !outcome.sent) return;
    tx.put(integrations, tenant, { ...record, last_used_at_ms: now, last_error: error });
  });
}
