import { sweepBlobs } from "../kv/store/blob.ts";
import { SYSTEM } from "../kv/store/collection.ts";
import { LeasedCounters } from "../kv/limits/counters.ts";
import { LeasedSlots } from "../kv/limits/slots.ts";
import { EventLog } from "../kv/log/log.ts";
import type { OpenStore } from "../kv/maintenance/open.ts";
import { StoreUnavailableError } from "../kv/store/errors.ts";
import type { Store } from "../kv/store/store.ts";
import { readTally } from "../kv/store/tally.ts";
import { organizations } from "../kv/records/organization.ts";
import { Authenticator } from "./access/authenticate.ts";
import { notifyOfExpiringKeys } from "./access/keys/expiring.ts";
import { madeKinds, type NamedKind } from "./access/keys/made_kinds.ts";
import { Limiter } from "./access/limits/limiter.ts";
import { notifyOfPlanLimits } from "./access/limits/plan_notice.ts";
import { FailureThrottle } from "./access/limits/throttle.ts";
import { McpSessions } from "./access/mcp_sessions.ts";
import { notifyAdministrators, trimNotifications } from "./access/people/notify.ts";
import type { Founder, SignIn } from "./access/sign_in/parts.ts";
import { claimCodeOf } from "./access/sign_in/sign_up.ts";
import type { AnyStandingKind } from "./access/standing/kinds.ts";
import { noteStanding, reviewStanding, sweepStandingReviews } from "./access/standing/review.ts";
import { SigningKeys } from "./access/tokens/signing_keys.ts";
import { Tokens } from "./access/tokens/tokens.ts";
import { Usage } from "./access/usage/usage.ts";
import { MADE_DEVICES } from "./agents/devices/manage.ts";
import { MADE_PAIRING_CODES } from "./agents/devices/pair.ts";
import type { LinkListeners } from "./agents/link.ts";
import { AGENT_RIGHT, Links } from "./agents/links.ts";
import { notifyLostAgents } from "./agents/lost_agents.ts";
import { sweepStaleAgents } from "./agents/register.ts";
import { closeFormerKeyLinks, insertVerdictKeys } from "./agents/verdict_keys.ts";
import { makeSealer, type Sealer } from "./codec/seal.ts";
import { WAITING } from "./commands/approvals/count.ts";
import { lapseForAgent, lapseOutdated, lapseOverdue } from "./commands/approvals/lapse.ts";
import { insertShield } from "./commands/guard/in_force.ts";
import { Sessions } from "./commands/guard/sessions.ts";
import { INGEST_TOKEN } from "./commands/ingest/standing.ts";
import { MADE_INGEST_TOKENS } from "./commands/ingest/tokens.ts";
import { startQueued, sweepQueued } from "./commands/queue.ts";
import { recoverCommands } from "./commands/recover.ts";
import { RunningCommands } from "./commands/running_commands.ts";
import { reportRounds } from "./compliance/report_jobs.ts";
import { statisticsOf, waitStatistic } from "./events/statistics.ts";
import { Streams } from "./events/streams/streams.ts";
import { insertAuditKeys } from "./events/trail/audit_keys.ts";
import { dropExpiredRows } from "./events/trail/retention.ts";
import { Sequencer } from "./events/trail/sequencer.ts";
import { Activity } from "./host/activity.ts";
import { ActiveConfiguration } from "./host/configuration/active.ts";
import { jobsDue } from "./host/health.ts";
import { Housekeeping, runAll, type Tasks } from "./host/housekeeping.ts";
import { type Gauges, Metrics } from "./host/metrics.ts";
import { seedPlans } from "./host/plans/seed.ts";
import { subscribe } from "./host/plans/subscribe.ts";
import { admitSecrets } from "./host/secrets/installation.ts";
import { MADE_INTEGRATIONS } from "./integrations/manage.ts";
import { IntegrationRunner } from "./integrations/job_runner.ts";
import { repositoryCredentialOf } from "./integrations/repository.ts";
import { INTEGRATION } from "./integrations/standing.ts";
import { notePolicyHeld, pushPolicies } from "./policies/agents/distribution.ts";
import { noteState } from "./policies/agents/drift.ts";
import { Transfers } from "./policies/backups/transfers.ts";
import { PolicyCache } from "./policies/policy_cache.ts";
import { pruneVersions } from "./policies/prune_versions.ts";
import { MADE_REPOSITORIES } from "./policies/repositories.ts";
import type { RepositoryCredentials } from "./policies/source.ts";
import { REPOSITORY } from "./policies/standing.ts";
import { Syncs } from "./policies/syncs.ts";
import type { Ports } from "./ports/ports.ts";
import type { Rounds } from "./ports/rounds.ts";
import { Deliveries } from "./webhooks/deliveries.ts";
import { readLedger } from "./webhooks/ledger.ts";
import { dropExpired } from "./webhooks/retention.ts";
import { WEBHOOK } from "./webhooks/standing.ts";
import { madeWebhooks } from "./webhooks/manage.ts";
import { Background } from "./work/background.ts";
import type { Config } from "./work/config.ts";
import { publicOrigin, type Settings } from "./work/settings.ts";
import { Signals } from "./work/signals.ts";
import type { Context } from "./work/work.ts";

/** The parts of a running relay. Each function and class gets only those that it uses. */
export interface Relay extends Context {
  readonly background: Background;
  /** Makes the log provable. */
  readonly audit: Sequencer;
  readonly settings: Settings;
  readonly configuration: ActiveConfiguration;
  readonly signingKeys: SigningKeys;
  readonly limiter: Limiter;
  readonly authenticator: Authenticator;
  readonly signIn: SignIn;
  readonly mcpSessions: McpSessions;
  /** The kinds of things that a key may have made. */
  readonly madeKinds: readonly NamedKind[];
  /** The kinds of things that act for a person. */
  readonly standingKinds: readonly AnyStandingKind[];
  /** Tries to pair a device. */
  readonly pairings: FailureThrottle;
  readonly usage: Usage;
  /** What happens in each organization, for statistics. */
  readonly activity: Activity;
  readonly links: Links;
  readonly commands: RunningCommands;
  /** What each session's commands left behind, for the shield's behaviour layer. */
  readonly sessions: Sessions;
  readonly deliveries: Deliveries;
  /** The documents of the policies in force. */
  readonly policyCache: PolicyCache;
  readonly repositoryCredentials: RepositoryCredentials;
  /** Repositories that are being looked at. */
  readonly syncs: Syncs;
  /** Makes compliance reports. */
  readonly reports: Rounds;
  readonly integrations: IntegrationRunner;
  /** Backups and restores that are under way. */
  readonly transfers: Transfers;
  readonly metrics: Metrics;
  readonly streams: Streams;
  /** Names this history of the logs, in the ids of streamed events. */
  readonly epoch: string;
  /** This process, among all that share the store. */
  readonly instance: string;
  readonly startedAtMs: number;
}

/** A running relay. */
export interface Running {
  readonly app: Relay;
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
  store.health.onChange((why) => logTrouble(ports, why));
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
async function buildParts(store: Store, settings: ServerSettings, ports: Ports): Promise<Relay> {
  const { clock, entropy } = ports;
  const complain = (what: string) => (error: unknown) => {
    // Unavailability of the store is logged once, by `logTrouble`.
    if (error instanceof StoreUnavailableError && store.health.failure !== null) return;
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
  const background = new Background(ports.log);
  const log = new EventLog(store, complain("events could not be sequenced"));
  const context: Context = { store, log, ports, config, sealer, signals: new Signals() };
  const metrics = new Metrics();
  const activity = new Activity(
    store,
    instance,
    complain("the statistics could not be recorded"),
    (name) => metrics.counted(name),
  );
  const audit = new Sequencer(context);
  const limiter = new Limiter({
    counters: new LeasedCounters(store, sharing),
    addresses: new LeasedCounters(store, sharing),
    connections: new LeasedSlots(store, instance, sharing),
    config,
    now: () => clock.now(),
  });
  const inForce = withLocal(settings, config);
  const signingKeys = new SigningKeys(store, sealer, clock);
  const tokens = new Tokens(signingKeys, clock, settings.publicUrl ?? "relay");
  const authenticator = new Authenticator({ store, ports, config, tokens });
  const policyCache = new PolicyCache(store);
  const commands = new RunningCommands({ context, background, policies: policyCache, instance });
  const links: Links = new Links({
    context,
    instance,
    background,
    keys: authenticator,
    listeners: linkListeners(() => app, commands),
  });
  const repositoryCredentials: RepositoryCredentials = {
    find: (tenant, host, options) => repositoryCredentialOf(context, tenant, host, options),
  };
  const deliveries = new Deliveries({
    ...context,
    audit,
    limiter,
    metrics,
    activity,
    notifyAdministrators: (tx, tenant, notice) => notifyAdministrators(context, tx, tenant, notice),
  });
  const app: Relay = {
    ...context,
    background,
    audit,
    settings: inForce,
    configuration,
    signingKeys,
    authenticator,
    signIn: {
      tokens,
      logins: new FailureThrottle(clock, { scope: "login", forgiving: true }),
      settings: inForce,
      founders: foundersFor(context),
    },
    mcpSessions: new McpSessions(context),
    madeKinds: madeKindsOf(deliveries),
    standingKinds: STANDING_KINDS,
    limiter,
    // A success does not reset the count: the holder of one code must not guess others.
    pairings: new FailureThrottle(clock, { scope: "pairing", forgiving: false }),
    usage: new Usage(store, instance, complain("the use of keys could not be recorded")),
    activity,
    links,
    commands,
    sessions: new Sessions(() => clock.now()),
    deliveries,
    policyCache,
    repositoryCredentials,
    syncs: new Syncs({
      ...context,
      repositoryCredentials,
      noteStanding: (tenant, repository) => noteStanding(context, tenant, REPOSITORY, repository),
    }),
    reports: reportRounds({ ...context, audit }),
    integrations: new IntegrationRunner({ ...context, origin: publicOrigin(settings) }),
    transfers: new Transfers({ ...context, background, instance, links, policyCache }),
    metrics,
    streams: new Streams({ ...context, background, epoch, authenticator }),
    epoch,
    instance,
    startedAtMs: clock.now(),
  };
  return app;
}

/** Connects what areas send after a commit with the areas that react to it. */
function wireSignals(app: Relay): void {
  const { activity, background, links, signals } = app;
  signals.eventWritten.on(({ tenant, ...event }) => {
    for (const name of statisticsOf(event)) activity.count(tenant, name);
  });
  signals.approvalResolved.on(({ tenant, waitedMs, commandEnded }) => {
    if (waitedMs !== null) activity.count(tenant, waitStatistic(waitedMs));
    if (commandEnded !== null) activity.count(tenant, `commands.${commandEnded}`);
  });
  signals.commandApproved.on(({ tenant, agentId }) => startQueued(app, tenant, agentId));
  signals.shieldChanged.on(({ tenant, version }) => lapseOutdated(app, tenant, version));
  signals.policiesChanged.on(({ tenant }) => {
    pushPolicies(app, links.serving(tenant));
    background.run("deleting old policy versions", () => pruneVersions(app.store, tenant));
  });
  signals.agentDeleted.on(({ tenant, agentId }) => {
    lapseForAgent(app, tenant, agentId);
    app.transfers.forget(tenant, agentId);
  });
  signals.credentialEnded.on(({ id }) => links.closeCredential(id));
  signals.keyScopesChanged.on(({ id, scopes }) => {
    if (!scopes.includes(AGENT_RIGHT)) links.closeCredential(id);
  });
  signals.rightsChanged.on(({ org }) =>
    background.run(
      "the review of what acts for people",
      () => reviewStanding(app, STANDING_KINDS, org),
    )
  );
  signals.peopleNotified.on((news) =>
    background.run("the removal of old notifications", () => trimNotifications(app, news))
  );
  signals.checkpointSigned.on((tenant) => links.witness(tenant));
  signals.integrationDue.on(() => app.integrations.wake());
}

/** Connects the agents' links with the areas that send over them and hear from them. */
const linkListeners = (app: () => Relay, commands: RunningCommands): LinkListeners => ({
  commands,
  opened(link, agentId) {
    pushPolicies(app(), [link]);
    startQueued(app(), link.tenant, agentId);
    app().transfers.begin(link.tenant, agentId);
  },
  closed(link) {
    commands.linkLost(link);
    app().transfers.linkLost(link);
  },
  transferReply: (link, reply) => app().transfers.take(link, reply),
  policyHeld: (tenant, agent, version) => notePolicyHeld(app(), tenant, agent, version),
  stateReported: (tenant, agent, state) => noteState(app(), tenant, agent, state),
});

/** What a new organization gets from each area. */
const foundersFor = (context: Context): readonly Founder[] => [
  (tx, { id, plan }) => subscribe(context.ports, tx, id, plan),
  (tx, { id }) => insertShield(tx, id),
  (tx, { id }) => insertVerdictKeys(context, tx, id),
  (tx, { id }) => insertAuditKeys(context, tx, id),
];

/** The things that a key may have made, which a cascade ends with it. */
const madeKindsOf = (deliveries: Deliveries) =>
  madeKinds({
    pairing_code: MADE_PAIRING_CODES,
    device: MADE_DEVICES,
    ingest_token: MADE_INGEST_TOKENS,
    webhook: madeWebhooks(deliveries),
    integration: MADE_INTEGRATIONS,
    repository: MADE_REPOSITORIES,
  });

/** The things that act for a person, in the order of a review. */
const STANDING_KINDS = [
  REPOSITORY,
  WEBHOOK,
  INTEGRATION,
  INGEST_TOKEN,
] as unknown as readonly AnyStandingKind[];

/** What every instance does every 30 s, in this order. */
const periodicTasks = (app: Relay): Tasks => ({
  numbers: () => app.log.flush(),
  audit: () => app.audit.wake(),
  deliveries: () => app.deliveries.sweep(),
  reports: () => app.reports.wake(),
  integrations: () => app.integrations.sweep(),
  approvals: () => lapseOverdue(app),
  "lost agents": () => notifyLostAgents(app),
  "expiring keys": () => notifyOfExpiringKeys(app),
  "plan limits": () => notifyOfPlanLimits(app, app.limiter),
  commands: () => sweepQueued(app),
  sessions: () => app.mcpSessions.sweep(),
  "stale agents": () => sweepStaleAgents(app),
  // Policies that another instance applied, and those of agents that were not linked then.
  policies: () => pushPolicies(app, app.links.serving(null)),
  "former keys": () => closeFormerKeyLinks(app),
  "standing things": () => sweepStandingReviews(app, app.standingKinds),
  syncs: () => app.syncs.sweep(),
  transfers: () => app.transfers.sweep(),
  blobs: () => sweepBlobs(app.store),
  "old deliveries": () => dropExpired(app),
  "old rows": () => dropExpiredRows(app),
});

/** Waits for running work and records it, in this order: each part before those that it writes to. */
const stopTasks = (app: Relay): Tasks => ({
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
const gaugesOf = (app: Relay): Gauges => ({
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
function listenForAlarms(app: Relay): void {
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
