import { SYSTEM } from "../kv/store/collection.ts";
import { Inbox } from "../kv/instances/inbox.ts";
import { KeyWatch } from "../kv/instances/watch.ts";
import { Presence } from "../kv/instances/presence.ts";
import { LeasedCounters } from "../kv/limits/counters.ts";
import { LeasedSlots } from "../kv/limits/slots.ts";
import { EventLog } from "../kv/log/log.ts";
import type { OpenStore } from "../kv/maintenance/open.ts";
import type { Store } from "../kv/store/store.ts";
import { organizations } from "../kv/records/organization.ts";
import {
  Authenticator,
  claimCodeOf,
  FailureThrottle,
  type Founder,
  Limiter,
  madeKinds,
  McpClients,
  McpSessions,
  noteStanding,
  notifyAdministrators,
  Providers,
  SigningKeys,
  Tokens,
  Usage,
} from "./access/access.ts";
import {
  Elsewhere,
  FleetCommands,
  Inquiries,
  insertShield,
  insertVerdictKeys,
  type LinkListeners,
  Links,
  LiveOutput,
  MADE_DEVICES,
  MADE_INGEST_TOKENS,
  MADE_PAIRING_CODES,
  recoverCommands,
  RunningCommands,
  SoleSessions,
  startQueued,
  StoredSessions,
} from "./agents/agents.ts";
import { makeSealer, type Sealer } from "./codec/codec.ts";
import { Background, type Ports } from "./ports/ports.ts";
import {
  ActiveConfiguration,
  Activity,
  admitSecrets,
  Housekeeping,
  logTrouble,
  Metrics,
  reportRunner,
  runAll,
  ScheduledBackups,
  seedPlans,
  subscribe,
  withoutRepeats,
} from "./host/host.ts";
import { insertAuditKeys, Sequencer, StreamNews, Streams } from "./events/events.ts";
import {
  Deliveries,
  IntegrationRunner,
  MADE_INTEGRATIONS,
  madeWebhooks,
  repositoryCredentialOf,
} from "./delivery/delivery.ts";
import {
  AwaitedFetches,
  MADE_REPOSITORIES,
  notePolicyHeld,
  noteState,
  PolicyCache,
  pushPolicies,
  REPOSITORY,
  type RepositoryCredentials,
  syncRunner,
  Transfers,
} from "./policies/policies.ts";
import {
  type Config,
  type Context,
  publicOrigin,
  type Settings,
  Signals,
} from "./context/context.ts";
import {
  periodicTasks,
  type Relay,
  stopTasks,
  storeReturned,
  takeMessage,
  takeOver,
  watched,
  wireSignals,
} from "./relay.ts";

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
  machine: Ports,
): Promise<Running> {
  const { store } = opened;
  store.health.onChange((why) => logTrouble(machine, why));
  const log = withoutRepeats(machine.log, store);
  const ports = { ...machine, clock: store.clock, log };
  const app = await buildParts(store, settings, ports);
  wireSignals(app);
  // A hosting platform, which attaches its own database, keeps the clocks of its machines right.
  if (!store.sole) await app.presence.start({ rightTime: settings.kv === null });
  await seedPlans(store, app.config());
  const claimed = await store.find(organizations, SYSTEM, "host", ["host"]) !== null;
  const claimCode = claimed || app.settings.local ? null : claimCodeOf(app);
  app.streams.start();
  app.audit.start();
  // Followers start before the first commit: events that are sequenced earlier are not marked for them.
  await app.deliveries.start();
  await app.integrations.start();
  app.log.wake();
  app.metrics.watch(app);
  if (store.sole) {
    await recoverCommands(app);
    await app.fleetCommands.sweep();
    app.storeBackups.sweep();
  } else {
    app.inbox.start();
    app.streamNews.start();
    app.watch.start();
    store.health.onReturn(() => storeReturned(app));
  }
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
  const complain = (what: string) => (error: unknown) =>
    ports.log.error(what, { error: error instanceof Error ? error.stack : String(error) });
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
  const background = new Background((name, error) => complain(`${name} failed`)(error));
  const log = new EventLog(store, complain("events could not be sequenced"));
  const signals = new Signals(complain("a reaction to a change failed"));
  const context: Context = { store, log, ports, config, sealer, signals };
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
  const authenticator = new Authenticator({ store, ports, config, sealer, tokens });
  const policyCache = new PolicyCache(store);
  const commands = new RunningCommands({ context, background, policies: policyCache, instance });
  const links: Links = new Links({
    context,
    instance,
    background,
    keys: authenticator,
    listeners: linkListeners(() => app, commands),
    mayHold: () => store.sole || app.presence.mayHold,
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
  const streams = new Streams({ ...context, background, epoch, authenticator });
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
      logins: new FailureThrottle(store, { scope: "login", forgiving: true }),
      settings: inForce,
      founders: foundersFor(context),
      providers: new Providers({
        ports,
        config,
        origin: publicOrigin(settings),
        secrets: settings.given.RELAY_ISSUER_SECRETS,
      }),
    },
    mcpClients: new McpClients(ports),
    mcpSessions: new McpSessions(context),
    madeKinds: madeKindsOf(deliveries),
    limiter,
    // A success does not reset the count: the holder of one code must not guess others.
    pairings: new FailureThrottle(store, { scope: "pairing", forgiving: false }),
    deviceLogins: new FailureThrottle(store, { scope: "device_login", forgiving: false }),
    usage: new Usage(store, instance, complain("the use of keys could not be recorded")),
    activity,
    storeBackups: new ScheduledBackups({ ...context, settings, epoch, background, metrics }),
    links,
    inquiries: new Inquiries({ context, instance, links }),
    commands,
    elsewhere: new Elsewhere({ context, background, instance }),
    fleetCommands: new FleetCommands(() => app),
    liveOutput: new LiveOutput({ context, background, commands, links, instance }),
    presence: new Presence(
      store,
      instance,
      {
        isolated: () => links.closeAll("going_away"),
        reap: (dead) => takeOver(app, dead),
      },
      complain("the presence of instances could not be checked"),
    ),
    inbox: new Inbox(
      store,
      instance,
      (message) => takeMessage(app, message),
      complain("messages of other instances could not be read"),
    ),
    watch: new KeyWatch(
      store,
      () => watched(app),
      complain("the store could not be watched"),
    ),
    sessions: store.sole
      ? new SoleSessions(() => clock.now())
      : new StoredSessions(context, background),
    deliveries,
    policyCache,
    repositoryCredentials,
    syncs: syncRunner({
      ...context,
      metrics,
      repositoryCredentials,
      noteStanding: (tenant, repository) => noteStanding(context, tenant, REPOSITORY, repository),
    }),
    fetches: new AwaitedFetches(),
    reports: reportRunner({ ...context, audit }),
    integrations: new IntegrationRunner({ ...context, origin: publicOrigin(settings) }),
    transfers: new Transfers({ ...context, background, instance, links, policyCache }),
    metrics,
    streams,
    streamNews: new StreamNews(
      { ...context, background, streams, instance },
      () => app.presence.others(),
    ),
    epoch,
    instance,
    startedAtMs: clock.now(),
  };
  return app;
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
