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
import type { App, Context } from "./work/work.ts";
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
import { type Gauges, Metrics } from "./host/metrics.ts";
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

/** A running relay. */
export interface Running {
  readonly app: App;
  /** False until the first signup. */
  readonly claimed: boolean;
  /** The code that the first signup must send; null when it needs none. */
  readonly claimCode: string | null;
  /** Runs the periodic tasks once: a hosting platform's schedule calls it, because its timers do not run. */
  housekeep(): Promise<void>;
  /** Closes event streams and agents' links, which would keep the server from stopping. */
  closeConnections(): void;
  /** Stops everything after running work has been recorded; false when some of it could not be. */
  stop(): Promise<boolean>;
}

/** Logged after a stop that could not record everything. */
export const UNRECORDED =
  "not everything could be recorded during the stop: check the store's disk or server, " +
  "and run `relay doctor`; everything that was acknowledged is recorded";
/** The assumed number of instances on a shared store; it divides rate limits into leases. */
const SHARING_INSTANCES = 4;

type ServerSettings = Settings & { readonly secret: string };

/**
 * Builds the parts of a relay over an open store, wires them and starts them.
 * @throws {Error} when a secret is missing that something in the store was sealed with
 */
export async function startRelay(
  opened: OpenStore,
  settings: ServerSettings,
  ports: Ports,
): Promise<Running> {
  const { store } = opened;
  store.trouble.onTurn((why) => logTrouble(ports, why));
  const app = await buildParts(store, settings, ports);
  wireSignals(app);
  await seedPlans(store, app.config());
  const claimed = await store.find(organizations, SYSTEM, "host", ["host"]) !== null;
  const claimCode = claimed || app.settings.local ? null : claimCodeOf(app);
  app.streams.start();
  app.audit.start();
  // Followers start before the first commit: events that are sequenced earlier are not marked for them.
  await app.deliveries.start();
  await app.integrations.start();
  app.log.wake();
  app.metrics.watch(gaugesOf(app));
  if (store.sole) await recoverCommands(app);
  app.reports.wake();
  if (store.hasQueue) listenForAlarms(app);
  const housekeeping = new Housekeeping(
    periodicTasks(app),
    ports,
    app.background,
    (seconds) => app.metrics.lag(seconds),
  );
  housekeeping.start();
  const closeConnections = () => {
    app.streams.stop();
    app.links.closeAll("going_away");
  };
  return {
    app,
    claimed,
    claimCode,
    housekeep: () => housekeeping.run(),
    closeConnections,
    async stop() {
      housekeeping.stop();
      const transfers = app.transfers.stop();
      closeConnections();
      const failed = await runAll({
        transfers: () => transfers,
        ...stopTasks(app),
        store: () => opened.close(),
      });
      if (failed !== null) ports.log.error(UNRECORDED, failed);
      return failed === null;
    },
  };
}

/** Builds the parts in the order of their dependencies. */
async function buildParts(store: Store, settings: ServerSettings, ports: Ports): Promise<App> {
  const { clock, entropy } = ports;
  const complain = (what: string) => (error: unknown) => {
    // Unavailability of the store is logged once, by `logTrouble`.
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
  const log = new EventLog(store, complain("events could not be sequenced"));
  const context: Context = { store, log, ports, config, sealer, signals: new Signals() };
  const metrics = new Metrics();
  const app: App = {
    ...context,
    background: new Background(ports.log),
    audit: new Sequencer(() => app),
    settings: withLocal(settings, config),
    configuration,
    signingKeys: new SigningKeys(store, sealer, clock),
    limiter: new Limiter({
      counters: new LeasedCounters(store, sharing),
      addresses: new LeasedCounters(store, sharing),
      connections: new LeasedSlots(store, instance, sharing),
      config,
      now: () => clock.now(),
    }),
    logins: new FailureThrottle(clock, { scope: "login", forgiving: true }),
    // A success does not reset the count: the holder of one code must not guess others.
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
  return app;
}

/** Connects what areas send after a commit with the areas that react to it. */
function wireSignals(app: App): void {
  const { activity, audit, links, signals } = app;
  audit.onCheckpoint((tenant) => links.witness(tenant));
  signals.eventWritten.on(({ tenant, ...event }) => {
    for (const name of countedAs(event)) activity.count(tenant, name);
  });
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

/** Waits for running work and records it, in this order: each part before those that it writes to. */
const stopTasks = (app: App): Tasks => ({
  links: () => app.links.idle(),
  commands: () => app.commands.stop(),
  deliveries: () => app.deliveries.stop(),
  // A receiver that hangs must not block the stop.
  outbound: () => app.ports.outbound.close(),
  syncs: () => app.syncs.stop(),
  reports: () => app.reports.stop(),
  integrations: () => app.integrations.stop(),
  background: () => app.background.idle(),
  connections: () => app.limiter.close(),
  commits: () => app.store.idle(),
  usage: () => app.usage.stop(),
  activity: () => app.activity.stop(),
  log: () => app.log.stop(),
  audit: () => app.audit.stop(),
});

/** The figures that a scrape reads from the parts. */
const gaugesOf = (app: App): Gauges => ({
  agentsLinked: () => app.links.size,
  commandsUnderWay: () => app.commands.size,
  deliveriesUnderWay: () => app.deliveries.underWay,
  deliveriesDue: () => jobsDue(app.store, app.ports.clock),
  deliveryStates: () => readLedger(app.store),
  keysUnwritten: () => app.usage.unwritten,
  streamsOpen: () => app.streams.size,
  approvalsWaiting: () => readTally(app.store, SYSTEM, WAITING.name, WAITING.id),
  startedAtMs: app.startedAtMs,
});

/** A server is not local while its configuration names proxies, which bring requests of strangers. */
const withLocal = <S extends Settings>(settings: S, config: () => Config): S => ({
  ...settings,
  get local() {
    return settings.local && config().trusted_proxies.length === 0;
  },
});

/** Checks the secrets against those of the store. Returns the epoch of the logs. */
async function openInstallation(store: Store, sealer: Sealer, ports: Ports): Promise<string> {
  const { clock, entropy } = ports;
  const fresh = { epoch: entropy.id("e"), created_at_ms: clock.now() };
  const { epoch, older } = await store.transact((tx) => admitSecrets(tx, sealer, fresh));
  if (older) ports.log.warn("older secrets are in use: run `relay secret rotate`");
  return epoch;
}

/** The engine's queue is an alarm clock: its messages only say that something may be due. */
function listenForAlarms(app: App): void {
  const wake = () => {
    app.deliveries.wake();
    app.integrations.wake();
  };
  app.store.kv.listenQueue(wake).catch(() => {});
}

/** Logs that commits began to fail, during which requests get 503, or that they succeed again. */
function logTrouble({ log }: Ports, why: Error | null): void {
  if (why === null) return log.info("the store takes changes again");
  const error = `${why.message}: check the store's disk or server, and run \`relay doctor\``;
  log.error("the store takes no changes", { error });
}
