import { SYSTEM } from "../kv/store/collection.ts";
import { LeasedCounters } from "../kv/limits/counters.ts";
import { LeasedSlots } from "../kv/limits/slots.ts";
import { EventLog } from "../kv/log/log.ts";
import type { OpenStore } from "../kv/maintenance/open.ts";
import { readTally } from "../kv/store/tally.ts";
import { StoreUnavailableError } from "../kv/store/errors.ts";
import type { Store } from "../kv/store/store.ts";
import { organizations } from "../kv/records/organization.ts";
import type { LinkListeners } from "./agents/link.ts";
import { AGENT_RIGHT, Links } from "./agents/links.ts";
import { Activity } from "./host/activity.ts";
import type { Configuration } from "./host/configuration.ts";
import type { App, Context } from "./work/work.ts";
import { Sequencer } from "./events/trail/sequencer.ts";
import { WAITING } from "./commands/approvals/count.ts";
import { lapseForAgent, lapseOutdated } from "./commands/approvals/lapse.ts";
import { startQueued } from "./commands/queue.ts";
import { recoverCommands } from "./commands/recover.ts";
import { RunningCommands } from "./commands/running_commands.ts";
import { reportRounds } from "./compliance/jobs.ts";
import { jobsDue } from "./host/health.ts";
import { claimCodeOf } from "./access/sign_in/sign_up.ts";
import { doAll, keepHouse } from "./host/housekeeping.ts";
import type { Config } from "./work/config.ts";
import { Authenticator } from "./access/authenticate.ts";
import { madeKinds } from "./access/keys/made_kinds.ts";
import { FailureThrottle } from "./access/limits/throttle.ts";
import { McpSessions } from "./access/mcp_sessions.ts";
import { trimNotifications } from "./access/people/notify.ts";
import type { Founder } from "./access/sign_in/parts.ts";
import type { AnyStandingKind } from "./access/standing/kinds.ts";
import { reviewStanding } from "./access/standing/review.ts";
import { Tokens } from "./access/tokens/tokens.ts";
import { MADE_DEVICES } from "./agents/devices/manage.ts";
import { MADE_PAIRING_CODES } from "./agents/devices/pair.ts";
import { insertVerdictKeys } from "./agents/verdict_keys.ts";
import { insertShield } from "./commands/guard/in_force.ts";
import { INGEST_TOKEN } from "./commands/ingest/standing.ts";
import { MADE_INGEST_TOKENS } from "./commands/ingest/tokens.ts";
import { insertAuditKeys } from "./events/trail/keys.ts";
import { subscribe } from "./host/plans/subscribe.ts";
import { MADE_INTEGRATIONS } from "./integrations/integrations.ts";
import { INTEGRATION } from "./integrations/standing.ts";
import { MADE_REPOSITORIES } from "./policies/repositories.ts";
import { REPOSITORY } from "./policies/standing.ts";
import { WEBHOOK } from "./webhooks/standing.ts";
import { madeWebhooks } from "./webhooks/manage.ts";
import { notifyAdministrators } from "./access/people/notify.ts";
import { noteStanding } from "./access/standing/review.ts";
import { PolicyCache } from "./policies/policy_cache.ts";
import { notePolicyHeld, pushPolicies } from "./policies/agents/distribution.ts";
import { noteState } from "./policies/agents/drift.ts";
import { pruneVersions } from "./policies/prune_versions.ts";
import type { RepositoryCredentials } from "./policies/source.ts";
import { Syncs } from "./policies/syncs.ts";
import { repositoryCredentialOf } from "./integrations/repository.ts";
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
import { countedAs, waitName } from "./events/counted.ts";
import { Streams } from "./events/streams/streams.ts";
import { SigningKeys } from "./access/tokens/signing_keys.ts";
import { Usage } from "./access/usage/usage.ts";
import { Deliveries } from "./webhooks/deliveries.ts";
import { readLedger } from "./webhooks/ledger.ts";

/** The parts of a running relay, as this composition puts them together. */
export type { App as Relay } from "./work/work.ts";

/** A running Relay and how to end it. */
export interface Running {
  readonly app: App;
  /** False until somebody has signed up. */
  readonly claimed: boolean;
  /** What the first signup must send, or null when it needs nothing. */
  readonly claimCode: string | null;
  /** Lets go of everything, after what is under way has been recorded; false when not all of it could be. */
  stop(): Promise<boolean>;
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
  store.health.onChange((why) => tellOfTrouble(ports, why));
  const app = await assemble(store, settings, ports);
  const { log, audit, deliveries, integrations, links, streams } = app;
  await seedPlans(app, app.config());
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
    deliveriesDue: () => jobsDue(app),
    deliveryStates: () => readLedger(store),
    keysUnwritten: () => app.usage.unwritten,
    streamsOpen: () => streams.size,
    approvalsWaiting: () => readTally(store, SYSTEM, WAITING.name, WAITING.id),
    startedAtMs: app.startedAtMs,
  });
  if (store.sole) await recoverCommands(app);
  app.reports.wake();
  if (store.hasQueue) listenForAlarms(app);
  const stopHousekeeping = keepHouse(app);
  return {
    app,
    claimed,
    claimCode,
    async stop() {
      stopHousekeeping();
      streams.stop();
      const carried = app.transfers.stop();
      links.closeAll("going_away");
      const failed = await doAll({
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
      }, app);
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
    if (error instanceof StoreUnavailableError && store.health.failure !== null) return;
    ports.log.error(what, { error: error instanceof Error ? error.stack : String(error) });
  };
  const sealer = makeSealer(settings.secret, entropy, settings.olderSecrets);
  let configuration: Configuration = {
    config: settings.config,
    said: saidBy(settings),
    loadedAtMs: clock.now(),
  };
  const config = () => configuration.config;
  const instance = entropy.id("ins");
  const sharing = store.sole ? 1 : SHARING_INSTANCES;
  const epoch = await openInstallation(store, sealer, ports);
  const metrics = new Metrics();
  const signals = new Signals();
  const signingKeys = new SigningKeys(store, sealer, clock);
  const tokens = new Tokens(signingKeys, clock, settings.publicUrl ?? "relay");
  const inForce = withLocal(settings, config);
  const context: Context = {
    store,
    log: new EventLog(store, complain("events could not be sequenced")),
    ports,
    config,
    sealer,
    signals,
  };
  const background = new Background(ports.log);
  const audit = new Sequencer(() => app);
  const limiter = new Limiter({
    counters: new LeasedCounters(store, sharing),
    addresses: new LeasedCounters(store, sharing),
    connections: new LeasedSlots(store, instance, sharing),
    config,
    now: () => clock.now(),
  });
  const activity = new Activity(
    store,
    instance,
    complain("the statistics could not be recorded"),
    (name) => metrics.counted(name),
  );
  const policyCache = new PolicyCache(store);
  const repositoryCredentials: RepositoryCredentials = {
    find: (tenant, host, options) => repositoryCredentialOf(app, tenant, host, options),
  };
  const authenticator = new Authenticator({ store, ports, config, tokens });
  const commands = new RunningCommands({
    context,
    background,
    policies: policyCache,
    instance,
  });
  const links = new Links({
    context,
    instance,
    background,
    keys: authenticator,
    listeners: linkListeners(() => app, commands),
  });
  const deliveries = new Deliveries({
    ...context,
    audit,
    limiter,
    metrics,
    activity,
    notifyAdministrators: (tx, tenant, notice) => notifyAdministrators(app, tx, tenant, notice),
  });
  const app: App = {
    ...context,
    background,
    audit,
    settings: inForce,
    configuration: () => configuration,
    putInForce: (next) => configuration = next,
    signingKeys,
    authenticator,
    signIn: {
      tokens,
      logins: new FailureThrottle(clock, { scope: "login", forgiving: true }),
      settings: inForce,
      founders: foundersFor(() => app),
    },
    mcpSessions: new McpSessions({ store, ports, signals }),
    madeKinds: madeKindsOf(deliveries),
    standingKinds: STANDING_KINDS,
    limiter,
    // Whoever has one code of their own must not guess others for nothing.
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
      noteStanding: (tenant, repository) => noteStanding(app, tenant, REPOSITORY, repository),
    }),
    reports: reportRounds(() => app),
    integrations: new Integrations(() => app),
    transfers: new Transfers({ ...context, background, instance, links, policyCache }),
    metrics,
    streams: new Streams(() => app),
    epoch,
    instance,
    startedAtMs: clock.now(),
  };
  wireSignals(app);
  return app;
}

/** Connects what areas send after a commit with the areas that react to it. */
function wireSignals(app: App): void {
  const { activity, links, signals } = app;
  signals.eventWritten.on(({ tenant, ...event }) => {
    for (const name of countedAs(event)) activity.count(tenant, name);
  });
  signals.approvalResolved.on(({ tenant, waitedMs, commandEnded }) => {
    if (waitedMs !== null) activity.count(tenant, waitName(waitedMs));
    if (commandEnded !== null) activity.count(tenant, `commands.${commandEnded}`);
  });
  signals.commandApproved.on(({ tenant, agentId }) => startQueued(app, tenant, agentId));
  signals.shieldChanged.on(({ tenant, version }) => lapseOutdated(app, tenant, version));
  signals.policiesChanged.on(({ tenant }) => {
    pushPolicies(app, links.serving(tenant));
    app.background.run("deleting old policy versions", () => pruneVersions(app.store, tenant));
  });
  signals.credentialEnded.on(({ id }) => links.closeCredential(id));
  signals.keyScopesChanged.on(({ id, scopes }) => {
    if (!scopes.includes(AGENT_RIGHT)) links.closeCredential(id);
  });
  signals.rightsChanged.on(({ org }) =>
    app.background.run(
      "the review of what acts for people",
      () => reviewStanding(app, STANDING_KINDS, org),
    )
  );
  signals.peopleNotified.on((news) =>
    app.background.run("the removal of old notifications", () => trimNotifications(app, news))
  );
  signals.agentDeleted.on(({ tenant, agentId }) => {
    lapseForAgent(app, tenant, agentId);
    app.transfers.forget(tenant, agentId);
  });
}

/** Connects the agents' links with the areas that send over them and hear from them. */
const linkListeners = (app: () => App, commands: RunningCommands): LinkListeners => ({
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
const foundersFor = (app: () => App): readonly Founder[] => [
  (tx, { id, plan }) => subscribe(app(), tx, id, plan),
  (tx, { id }) => insertShield(tx, id),
  (tx, { id }) => insertVerdictKeys(app(), tx, id),
  (tx, { id }) => insertAuditKeys(app(), tx, id),
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

/** What the configuration at the start said by itself. */
function saidBy({ configSource }: Settings): unknown {
  try {
    return JSON.parse(configSource.read());
  } catch {
    // It was readable a moment ago; then all of it is shown as the default until the next reload.
    return {};
  }
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
