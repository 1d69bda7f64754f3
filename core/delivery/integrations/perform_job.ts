import type { Tenant } from "../../../kv/store/collection.ts";
import {
  type IntegrationJobRecord,
  integrationJobs,
  type IntegrationRecord,
  integrations,
} from "../../../kv/records/integration.ts";
import { alerts } from "../../../kv/records/alert.ts";
import { approvals } from "../../../kv/records/approval.ts";
import type { Context } from "../../context/context.ts";
import { emit, type EventRow, RELAY_ACTOR } from "../../events/events.ts";
import { OutboundError, type OutboundResponse } from "../../ports/ports.ts";
import { statusNow } from "../../agents/agents.ts";
import { claimJob, getClaimed, type JobCollection, scheduleRetry } from "../jobs/job.ts";
import { afterFailure, isDue, retryAfterMs, RetryPolicy } from "../jobs/retry_policy.ts";
import { serviceOf } from "./catalog.ts";
import { receives } from "./fan_out.ts";
import { messageOf } from "./messages.ts";
import { accessTokenOf } from "./oauth/tokens.ts";
import { configOf, oauthClientOf } from "./record.ts";
import type { Message, ServiceRequest } from "./service.ts";

/** The deadline for all requests of an attempt. A message about many alerts may need many requests. */
const DEADLINE_MS = 10_000;
const REQUESTS_AT_ONCE = 8;
const RESPONSE_BYTES_KEPT = 4 * 1024;
/** The retry policy of webhooks, with `Retry-After` respected. */
const POLICY = RetryPolicy.parse({ respect_retry_after: true, auto_disable: false });

const JOB: JobCollection<IntegrationJobRecord> = {
  of: integrationJobs,
  isDue,
  jobOf: ({ attempt, due_at_ms, leased_until_ms, seq }) => ({
    attempt,
    due_at_ms: leased_until_ms ?? (seq === undefined ? due_at_ms : 0),
  }),
  // A leased job stays at the head of its integration's queue, so that no instance starts the next one.
  during: (row, { attempt, due_at_ms }) => ({
    ...row,
    attempt,
    status: "sending",
    ...(due_at_ms !== null && { leased_until_ms: due_at_ms }),
  }),
};

/** The parts of the relay that a job uses. */
export interface JobContext extends Context {
  /** The origin of links to the documentation. */
  readonly origin: string;
}

/** Performs a due job. */
export async function performJob(context: JobContext, tenant: Tenant, id: string): Promise<void> {
  const job = await claimJob(context, JOB, tenant, id);
  if (job === null) return;
  // The process died during the last attempt, whose outcome is unknown.
  const spent = job.attempt > POLICY.max_retries;
  const outcome = spent
    ? failure("The process ended during the last attempt.")
    : await attempt(context, tenant, job);
  await settle(context, tenant, job, outcome);
}

/** The outcome of an attempt. */
type Outcome =
  | { readonly done: true; readonly sent: boolean }
  | {
    readonly done: false;
    readonly error: string;
    readonly status: number | null;
    waitMs: number;
  };

async function attempt(
  context: JobContext,
  tenant: Tenant,
  job: IntegrationJobRecord,
): Promise<Outcome> {
  const record = await context.store.get(integrations, tenant, job.integration_id);
  const requests = await requestsOf(context, tenant, job, record);
  if (typeof requests === "string") return failure(requests);
  const endsMs = context.ports.clock.now() + DEADLINE_MS;
  const outcomes: Outcome[] = [];
  const waiting = requests.values();
  const sendOn = async () => {
    for (const request of waiting) outcomes.push(await send(context, tenant, job, request, endsMs));
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, sendOn));
  return outcomes.find(({ done }) => !done) ?? { done: true, sent: requests.length > 0 };
}

async function send(
  { ports: { clock, outbound } }: Context,
  { org: organization }: Tenant,
  job: IntegrationJobRecord,
  request: ServiceRequest,
  endsMs: number,
): Promise<Outcome> {
  const deadlineMs = endsMs - clock.now();
  if (deadlineMs <= 0) return failure("The service did not answer in time.");
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

/** The requests of a job, or a sentence that says why there are none yet. */
async function requestsOf(
  context: JobContext,
  tenant: Tenant,
  job: IntegrationJobRecord,
  record: IntegrationRecord | null,
): Promise<readonly ServiceRequest[] | string> {
  if (job.sealed_request !== null) {
    return [JSON.parse(context.sealer.open(job.sealed_request, job.id))];
  }
  if (record === null || job.event === null) return [];
  const event = JSON.parse(job.event) as EventRow;
  const whole = messageOf(event, context.origin);
  if (whole === null || !await receives(context.store, tenant, record, event)) return [];
  if (whole.pid !== null && !await isPending(context, tenant, whole.pid)) return [];
  const message = await withoutChanged(context, tenant, whole);
  const service = serviceOf(record);
  const config = configOf(context, record);
  const accessToken = accessTokenOf(context, record);
  if (accessToken === null && oauthClientOf(context, record) !== null) {
    return "There is no token: connect the integration.";
  }
  const nowMs = context.ports.clock.now();
  return [service.notify?.(config, { message, event, accessToken, nowMs }) ?? []].flat();
}

/**
 * A message without the alerts that changed their state since its event. Another message reports that state, and
 * the two may be sent in any order.
 */
async function withoutChanged(
  { store }: Context,
  tenant: Tenant,
  message: Message,
): Promise<Message> {
  if (message.topic !== "alerts") return message;
  const found = await Promise.all(
    message.subjects.map(({ key }) => store.get(alerts, tenant, key)),
  );
  const isActive = (at: number) => found[at]?.state === "active";
  return {
    ...message,
    subjects: message.subjects.filter(({ resolved }, at) => resolved !== isActive(at)),
  };
}

/** False once decided: a request sent then would follow the message about its decision and never be resolved. */
async function isPending(context: Context, tenant: Tenant, pid: string): Promise<boolean> {
  const approval = await context.store.get(approvals, tenant, pid);
  return approval !== null && statusNow(approval, context.ports.clock.now()) === "pending";
}

/** Records the outcome, and schedules the next attempt if there is one. */
async function settle(
  { store, ports, config, signals }: Context,
  tenant: Tenant,
  claimed: IntegrationJobRecord,
  outcome: Outcome,
): Promise<void> {
  const now = ports.clock.now();
  await store.transact(async (tx) => {
    const job = await getClaimed(tx, JOB, tenant, claimed);
    if (job === null) return;
    const ladder = config().webhooks.retry_delays_seconds;
    const delayMs = outcome.done ? null : afterFailure(
      POLICY,
      job.attempt,
      { httpStatus: outcome.status, retryAfterMs: outcome.waitMs },
      ladder,
    ).delayMs;
    const error = outcome.done ? null : outcome.error;
    const over = delayMs === null;
    const { leased_until_ms: _over, seq: _first, ...ended } = job;
    tx.put(integrationJobs, tenant, {
      ...ended,
      status: outcome.done ? "done" : over ? "failed" : "waiting",
      error,
      // The request may contain tokens, which are stored no longer than needed.
      sealed_request: over ? null : job.sealed_request,
      due_at_ms: scheduleRetry(tx, ports.clock, delayMs),
    });
    if (!outcome.done && over) {
      emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
        type: "integration_failed",
        resource: { type: "integration", id: job.integration_id },
        details: {
          what: job.event === null ? "revocation" : "message",
          attempts: job.attempt,
          error: outcome.error,
        },
      });
    }
    const record = await tx.get(integrations, tenant, job.integration_id);
    if (record === null || outcome.done && !outcome.sent) return;
    tx.put(integrations, tenant, { ...record, last_used_at_ms: now, last_error: error });
  });
}
