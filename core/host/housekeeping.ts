import { sweepBlobs } from "../../kv/store/blob.ts";
import { notifyLostAgents } from "../agents/lost_agents.ts";
import { sweepStaleAgents } from "../agents/register.ts";
import { closeFormerKeyLinks } from "../agents/verdict_keys.ts";
import { notifyOfExpiringKeys } from "../access/keys/expiring.ts";
import type { App } from "../work/work.ts";
import { lapseOverdue } from "../commands/approvals/lapse.ts";
import { dropExpiredRows } from "../events/trail/retention.ts";
import { sweepQueued } from "../commands/queue.ts";
import { pushPolicies } from "../policies/agents/distribution.ts";
import { notifyOfPlanLimits } from "../access/limits/plan_notice.ts";
import { sweepStandingReviews } from "../access/standing/review.ts";
import { dropExpired } from "../webhooks/retention.ts";

const HOUSEKEEPING_MS = 30_000;

/** Keeps house now and then; answers how to end that. */
export function keepHouse(app: App): () => void {
  const { clock } = app.ports;
  let dueMs = clock.now() + HOUSEKEEPING_MS;
  const tick = () => {
    app.metrics.lag(Math.max(0, clock.now() - dueMs) / 1000);
    dueMs = clock.now() + HOUSEKEEPING_MS;
    cancel = clock.after(HOUSEKEEPING_MS, tick);
    housekeep(app);
  };
  let cancel = clock.after(HOUSEKEEPING_MS, tick);
  return () => cancel();
}

/** What must happen now and then on every instance, in this order. */
const CHORES: Readonly<Record<string, (app: App) => unknown>> = {
  numbers: ({ log }) => log.flush(),
  audit: ({ audit }) => audit.wake(),
  deliveries: ({ deliveries }) => deliveries.sweep(),
  reports: ({ reports }) => reports.wake(),
  integrations: ({ integrations }) => integrations.sweep(),
  approvals: lapseOverdue,
  "lost agents": notifyLostAgents,
  "expiring keys": notifyOfExpiringKeys,
  "plan limits": (app) => notifyOfPlanLimits(app, app.limiter),
  commands: sweepQueued,
  sessions: ({ mcpSessions }) => mcpSessions.sweep(),
  "stale agents": sweepStaleAgents,
  // Policies that another instance applied, and those of agents that were not linked then.
  policies: (app) => pushPolicies(app, app.links.serving(null)),
  "former keys": closeFormerKeyLinks,
  "standing things": (app) => sweepStandingReviews(app, app.standingKinds),
  syncs: ({ syncs }) => syncs.sweep(),
  transfers: ({ transfers }) => transfers.sweep(),
  blobs: ({ store }) => sweepBlobs(store),
  "old deliveries": dropExpired,
  "old rows": dropExpiredRows,
};

/** What the housekeeping does; also what a hosted schedule calls. */
export async function housekeep(app: App): Promise<void> {
  const failed = await doAll(CHORES, app);
  if (failed !== null) app.ports.log.error("housekeeping failed", failed);
}

/** Does it all in its order, each by itself: one that fails holds up no other. Answers why some did, or null. */
export async function doAll(
  chores: Readonly<Record<string, (app: App) => unknown>>,
  app: App,
): Promise<Record<string, string> | null> {
  const failed: Record<string, string> = {};
  for (const [chore, work] of Object.entries(chores)) {
    try {
      await work(app);
    } catch (error) {
      failed[chore] = error instanceof Error ? error.stack ?? error.message : String(error);
    }
  }
  return Object.keys(failed).length === 0 ? null : failed;
}
