import { SYSTEM } from "../kv/store/collection.ts";
import { sweepBlobs } from "../kv/store/blob.ts";
import { LeasedCounters } from "../kv/limits/counters.ts";
import { LeasedSlots } from "../kv/limits/slots.ts";
import { EventLog } from "../kv/log/log.ts";
import type { OpenStore } from "../kv/maintenance/open.ts";
import { readTally } from "../kv/store/tally.ts";
import { StoreUnavailableError } from "../kv/store/errors.ts";
import type { Store } from "../kv/store/store.ts";
import { organizations } from "../kv/records/organization.ts";
import { Links } from "./agents/links.ts";
import { tellOfLost } from "./agents/lost.ts";
import { sweepStaleAgents } from "./agents/register.ts";
import { leaveFormerKeys } from "./agents/verdicts.ts";
import { tellOfExpiring } from "./access/keys/expiring.ts";
import { lapseOverdue } from "./commands/approvals/lapse.ts";
import { dropExpiredRows } from "./events/trail/retention.ts";
import { sweepQueued } from "./commands/queued.ts";
import { pushPolicies } from "./policies/push.ts";
import { sweepSessions } from "./access/mcp_sessions.ts";
import { tellOfPlanLimits } from "./access/limits/plan_limit.ts";
import { sweepReviews } from "./access/standing/review.ts";
import { dropExpired } from "./webhooks/retention.ts";
import { Activity } from "./host/activity.ts";
import { ActiveConfiguration } from "./host/configuration/active.ts";
import type { App } from "./work/work.ts";
import { Sequencer } from "./events/trail/sequencer.ts";
import { WAITING } from "./commands/approvals/count.ts";
import { recoverCommands } from "./commands/recover.ts";
import { Commands } from "./commands/registry.ts";
import { reportRounds } from "./compliance/jobs.ts";
import { jobsDue } from "./host/health.ts";
import { claimCodeOf } from "./access/sign_in/accounts.ts";
import { Housekeeping, runAll, type Tasks } from "./host/housekeeping.ts";
import type { Config } from "./work/config.ts";
import { FailureThrottle } from "./access/limits/throttle.ts";
import { PolicyBook } from "./policies/book.ts";
import { Syncs } from "./policies/syncs.ts";
import { Integrations } from "./integrations/runner.ts";
import { Transfers } from "./policies/backups/transfers.ts";
import { Limiter } from "./access/limits/limiter.ts";
import { Metrics } from "./host/metrics.ts";
import { seedPlans } from "./host/plans/seed.ts";
import type { Ports } from "./ports/ports.ts";
import { makeSealer, type Sealer } from "./codec/seal.ts";
import { admitSecrets } from "./host/secrets/installation.ts";
import type { Settings } from "./work/settings.ts";
import { Sessions } from "./commands/guard/sessions.ts";
import { Background } from "./work/background.ts";
import { Signals } from "./work/signals.ts";
import { countedAs } from "./events/counted.ts";
import { Streams } from "./events/streams/streams.ts";
import { SigningKeys } from "./access/tokens/signing_keys.ts";
import { Usage } from "./access/usage/usage.ts";
import { Deliveries } from "./webhooks/deliveries.ts";
import { readLedger } from "./webhooks/ledger.ts";

/** A running Relay and how to end it. */
export interface Running {
  readonly app: App;
  /** False until somebody has signed up. */
  readonly claimed: boolean;
  /** What the first signup must send, or null when it needs nothing. */
  readonly claimCode: string | null;
  /** Lets go of everything, after what is under way has been recorded; false when not all of it could be. */
  stop(): Promise<boolean>;
  /** Runs the periodic tasks once: a hosting platform's schedule calls it, because its timers do not run. */
  housekeep(): Promise<void>;
}

/** What is told of a stop after which something is missing. */
export const UNRECORDED =
  "not everything could be recorded at the end: look at the store's disk or server, " +
  "and at `relay doctor`; what was answered is recorded";
/** How many instances are assumed to share one store, for the shares of rate limits. */
const SHARING_INSTANCES = 4;

/**
 * Puts the parts together over an open store, and sets them going.
 * @throws {Error} when a secret is missing that something in the store was sealed with
 */
export async function startRelay(
  opened: OpenStore,
  settings: Settings & { readonly secret: string },
  ports: Ports,
): Promise<Running> {
  const { store } = opened;
  store.trouble.onTurn((why) => tellOfTrouble(ports, why));
  const app = await assemble(store, settings, ports);
  const { log, audit, deliveries, integrations, links, streams } = app;
  await seedPlans(store, app.config());
  const claimed = await store.find(organizations, SYSTEM, "host", ["host"]) !== null;
  const claimCode = claimed || app.settings.local ? null : claimCodeOf(app);
  streams.start();
  audit.onCheckpoint((tenant) => links.witness(tenant));
  audit.start();
  // Before anything is committed here: events that get their numbers while a follower is missing would
  // not be marked for it, and stay until something else happens.
  await deliveries.start();
  await integrations.start();
  log.wake();
  app.metrics.watch({
    agentsLinked: () => links.size,
    commandsUnderWay: () => app.commands.size,
    deliveriesUnderWay: () => deliveries.underWay,
    deliveriesDue: () => jobsDue(store, ports.clock),
    deliveryStates: () => readLedger(store),
    keysUnwritten: () => app.usage.unwritten,
    streamsOpen: () => streams.size,
    approvalsWaiting: () => readTally(store, SYSTEM, WAITING.name, WAITING.id),
    startedAtMs: app.startedAtMs,
  });
  if (store.sole) await recoverCommands(app);
  app.reports.wake();
  if (store.hasQueue) listenForAlarms(app);
  const housekeeping = new Housekeeping(
    periodicTasks(app),
    ports,
    (seconds) => app.metrics.lag(seconds),
  );
  housekeeping.start();
  return {
    app,
    claimed,
    claimCode,
    housekeep: () => housekeeping.run(),
    async stop() {
      housekeeping.stop();
      streams.stop();
      const carried = app.transfers.stop();
      links.closeAll("going_away");
      const failed = await runAll({
        transfers: () => carried,
        links: () => links.idle(),
        commands: () => app.commands.stop(),
        deliveries: () => deliveries.stop(),
        // A host that hangs must not hold up the end.
        outbound: () => ports.outbound.close(),
        syncs: () => app.syncs.stop(),
        reports: () => app.reports.stop(),
        integrations: () => integrations.stop(),
        background: () => app.background.idle(),
        connections: () => app.limiter.close(),
        commits: () => store.idle(),
        usage: () => app.usage.stop(),
        activity: () => app.activity.stop(),
        log: () => log.stop(),
        audit: () => audit.stop(),
        store: () => opened.close(),
      });
      if (failed !== null) ports.log.error(UNRECORDED, failed);
      return failed === null;
    },
  };
}

/** The parts, each of which finds the others through the whole. */
async function assemble(
  store: Store,
  settings: Settings & { readonly secret: string },
  ports: Ports,
): Promise<App> {
  const { clock, entropy } = ports;
  const complain = (what: string) => (error: unknown) => {
    // That is told once, and not by each who meets it.
    if (error instanceof StoreUnavailableError && store.trouble.why !== null) return;
    ports.log.error(what, { error: error instanceof Error ? error.stack : String(error) });
  };
  const sealer = makeSealer(settings.secret, entropy, settings.olderSecrets);
  const configuration = new ActiveConfiguration(
    settings.configSource,
    settings.config,
    clock.now(),
  );
  const config = () => configuration.current.config;
  const instance = entropy.id("ins");
  const sharing = store.sole ? 1 : SHARING_INSTANCES;
  const epoch = await openInstallation(store, sealer, ports);
  const metrics = new Metrics();
  const app: App = {
    store,
    signals: new Signals(),
    background: new Background(ports.log),
    log: new EventLog(store, complain("events could not be sequenced")),
    audit: new Sequencer(() => app),
    ports,
    settings: withLocal(settings, config),
    config,
    configuration,
    sealer,
    signingKeys: new SigningKeys(store, sealer, clock),
    limiter: new Limiter({
      counters: new LeasedCounters(store, sharing),
      addresses: new LeasedCounters(store, sharing),
      connections: new LeasedSlots(store, instance, sharing),
      config,
      now: () => clock.now(),
    }),
    logins: new FailureThrottle(clock, { scope: "login", forgiving: true }),
    // Whoever has one code of their own must not guess others for nothing.
    pairings: new FailureThrottle(clock, { scope: "pairing", forgiving: false }),
    usage: new Usage(store, instance, complain("the use of keys could not be recorded")),
    activity: new Activity(
      store,
      instance,
      complain("the statistics could not be recorded"),
      (name) => metrics.counted(name),
    ),
    links: new Links(() => app),
    commands: new Commands(() => app, store, instance),
    sessions: new Sessions(() => clock.now()),
    deliveries: new Deliveries(() => app),
    policyBook: new PolicyBook(() => store),
    syncs: new Syncs(() => app),
    reports: reportRounds(() => app),
    integrations: new Integrations(() => app),
    transfers: new Transfers(() => app),
    metrics,
    streams: new Streams(() => app),
    epoch,
    instance,
    startedAtMs: clock.now(),
  };
  app.signals.eventWritten.on(({ tenant, ...event }) => {
    for (const name of countedAs(event)) app.activity.count(tenant, name);
  });
  return app;
}

/** A proxy that a reload named brings strangers: such a server is not local any more. */
const withLocal = <S extends Settings>(settings: S, config: () => Config): S => ({
  ...settings,
  get local() {
    return settings.local && config().trusted_proxies.length === 0;
  },
});

/** Checks the secrets against what the store was made with; answers the name of the logs' history. */
async function openInstallation(store: Store, sealer: Sealer, ports: Ports): Promise<string> {
  const { clock, entropy } = ports;
  const fresh = { epoch: entropy.id("e"), created_at_ms: clock.now() };
  const { epoch, older } = await store.transact((tx) => admitSecrets(tx, sealer, fresh));
  if (older) ports.log.warn("older secrets are in use: run `relay secret rotate`");
  return epoch;
}

/** What every instance does every 30 s, in this order. */
const periodicTasks = (app: App): Tasks => ({
  numbers: () => app.log.flush(),
  audit: () => app.audit.wake(),
  deliveries: () => app.deliveries.sweep(),
  reports: () => app.reports.wake(),
  integrations: () => app.integrations.sweep(),
  approvals: () => lapseOverdue(app),
  "lost agents": () => tellOfLost(app),
  "expiring keys": () => tellOfExpiring(app),
  "plan limits": () => tellOfPlanLimits(app),
  commands: () => sweepQueued(app),
  sessions: () => sweepSessions(app),
  "stale agents": () => sweepStaleAgents(app),
  // Policies that another instance applied, and those of agents that were not linked then.
  policies: () => pushPolicies(app, app.links.serving(null)),
  "former keys": () => leaveFormerKeys(app),
  "standing things": () => sweepReviews(app),
  syncs: () => app.syncs.sweep(),
  transfers: () => app.transfers.sweep(),
  blobs: () => sweepBlobs(app.store),
  "old deliveries": () => dropExpired(app),
  "old rows": () => dropExpiredRows(app),
});

/** The engine's queue is only an alarm clock: its message says nothing but that something may be due. */
function listenForAlarms(app: App): void {
  const wake = () => {
    app.deliveries.wake();
    app.integrations.wake();
  };
  app.store.kv.listenQueue(wake).catch(() => {});
}

/** Commits fail from now on, or are made again: requests are answered with 503 meanwhile. */
function tellOfTrouble({ log }: Ports, why: Error | null): void {
  if (why === null) return log.info("the store takes changes again");
  const error = `${why.message}: look at the store's disk or server, and at \`relay doctor\``;
  log.error("the store takes no changes", { error });
}
