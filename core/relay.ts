import { fleetCommands } from "../kv/records/command.ts";
import { sweepBlobs } from "../kv/store/blob.ts";
import { agents } from "../kv/records/agent.ts";
import { ANNOUNCEMENT, type Tenant } from "../kv/store/collection.ts";
import { dropInbox, Inbox, wakeKey } from "../kv/instances/inbox.ts";
import { KeyWatch, type WatchedKey } from "../kv/instances/watch.ts";
import { Presence } from "../kv/instances/presence.ts";
import { PULSE_KEYS } from "../kv/log/pulses.ts";
import {
  type AnyStandingKind,
  Authenticator,
  FailureThrottle,
  Limiter,
  McpClients,
  McpSessions,
  type NamedKind,
  notifyOfExpiringKeys,
  notifyOfPlanLimits,
  reviewStanding,
  type SignIn,
  SigningKeys,
  sweepStandingReviews,
  trimNotifications,
  Usage,
} from "./access/access.ts";
import {
  AGENT_RIGHT,
  closeFormerKeyLinks,
  disconnectAgentsOf,
  Elsewhere,
  FleetCommands,
  INGEST_TOKEN,
  Inquiries,
  lapseForAgent,
  lapseOutdated,
  lapseOverdue,
  Links,
  LiveOutput,
  notifyLostAgents,
  recoverCommands,
  RunningCommands,
  type Sessions,
  startHandedOver,
  startQueued,
  sweepQueued,
  sweepStaleAgents,
} from "./agents/agents.ts";
import {
  dropExpiredRows,
  Sequencer,
  statisticsOf,
  StreamNews,
  Streams,
  waitStatistic,
} from "./events/events.ts";
import {
  ActiveConfiguration,
  Activity,
  makeScheduledReports,
  Metrics,
  ScheduledBackups,
  type Tasks,
} from "./host/host.ts";
import {
  Deliveries,
  dropExpired,
  INTEGRATION,
  IntegrationRunner,
  WEBHOOK,
} from "./delivery/delivery.ts";
import {
  type AwaitedFetches,
  PolicyCache,
  pruneVersions,
  pushPolicies,
  REPOSITORY,
  type RepositoryCredentials,
  Transfers,
} from "./policies/policies.ts";
import { Background, type JobRunner, within } from "./ports/ports.ts";
import type { Context, Settings } from "./context/context.ts";
import { type Message, readMessage, sendMessage } from "./work/work.ts";

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
  /** Clients that ask people for consent. */
  readonly mcpClients: McpClients;
  /** The kinds of things that a key may have made. */
  readonly madeKinds: readonly NamedKind[];
  /** Tries to pair a device. */
  readonly pairings: FailureThrottle;
  /** Tries to approve the sign-in of a terminal. */
  readonly deviceLogins: FailureThrottle;
  readonly usage: Usage;
  readonly storeBackups: ScheduledBackups;
  /** What happens in each organization, for statistics. */
  readonly activity: Activity;
  readonly links: Links;
  /** Asks agents for their states, wherever they are linked. */
  readonly inquiries: Inquiries;
  readonly commands: RunningCommands;
  /** Commands that callers here want and that run over links of other instances. */
  readonly elsewhere: Elsewhere;
  /** Commands for many agents that this instance drives. */
  readonly fleetCommands: FleetCommands;
  /** The output of commands while they run. */
  readonly liveOutput: LiveOutput;
  /** Which instances share the store and live. */
  readonly presence: Presence;
  /** What other instances tell this one. */
  readonly inbox: Inbox;
  /** Wakes this instance for its inbox and for events of others. */
  readonly watch: KeyWatch;
  /** What each session's commands left behind, for the shield's behaviour layer. */
  readonly sessions: Sessions;
  readonly deliveries: Deliveries;
  /** The documents of the policies in force. */
  readonly policyCache: PolicyCache;
  readonly repositoryCredentials: RepositoryCredentials;
  /** Brings the policies of repositories up to date. */
  readonly syncs: JobRunner;
  readonly fetches: AwaitedFetches;
  /** Makes compliance reports. */
  readonly reports: JobRunner;
  readonly integrations: IntegrationRunner;
  /** Backups, restores and upgrades that are under way. */
  readonly transfers: Transfers;
  readonly metrics: Metrics;
  readonly streams: Streams;
  /** Announces started commands to the streams of all instances. */
  readonly streamNews: StreamNews;
  /** Names this history of the logs, in the ids of streamed events. */
  readonly epoch: string;
  /** This process, among all that share the store. */
  readonly instance: string;
  readonly startedAtMs: number;
}

/** The things that act for a person, in the order of a review. */
const STANDING_KINDS = [
  REPOSITORY,
  WEBHOOK,
  INTEGRATION,
  INGEST_TOKEN,
] as unknown as readonly AnyStandingKind[];

/** Connects what areas send after a commit with the areas that react to it. */
export function wireSignals(app: Relay): void {
  const { activity, background, links, liveOutput, metrics, signals, streamNews } = app;
  signals.eventWritten.on(({ tenant, ...event }) => {
    for (const name of statisticsOf(event)) activity.count(tenant, name);
    metrics.written(tenant, event);
  });
  signals.approvalResolved.on(({ tenant, waitedMs, commandEnded }) => {
    if (waitedMs !== null) {
      activity.count(tenant, waitStatistic(waitedMs));
      metrics.decided(tenant, waitedMs);
    }
    if (commandEnded !== null) activity.count(tenant, `commands.${commandEnded}`);
  });
  signals.commandApproved.on(({ tenant, agentId }) => {
    startQueued(app, tenant, agentId);
    tellHolder(app, tenant, agentId);
  });
  signals.fleetCommandChanged.on(({ tenant, id }) => {
    app.fleetCommands.look(id);
    tellDriver(app, tenant, id);
  });
  signals.commandStarted.on(({ tenant, command }) => {
    liveOutput.started(command.id);
    streamNews.started(tenant, command);
  });
  signals.deliveryAttempted.on(({ tenant, webhookId }) => streamNews.attempted(tenant, webhookId));
  signals.shieldChanged.on(({ tenant, version }) => lapseOutdated(app, tenant, version));
  signals.policiesChanged.on(({ tenant }) => {
    tellOthers(app, { kind: "policies_changed", tenant });
    pushPolicies(app, links.serving(tenant));
    background.run("deleting old policy versions", () => pruneVersions(app.store, tenant));
  });
  signals.agentRelabelled.on(({ tenant, agentId }) => pushToAgent(app, tenant, agentId));
  signals.agentDeleted.on(({ tenant, agentId }) => {
    tellOthers(app, { kind: "agent_deleted", tenant, agent_id: agentId });
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
  signals.mcpSessionChanged.on(({ id }) => tellOthers(app, { kind: "mcp_session", id }));
  signals.mcpCallCancelled.on(({ call }) => tellOthers(app, { kind: "mcp_cancel", call }));
  signals.checkpointSigned.on((tenant) => links.witness(tenant));
  signals.integrationDue.on(() => app.integrations.wake());
}

/** Sends every other instance a message; each also finds out by a sweep of its own. */
function tellOthers({ background, ports, presence, store }: Relay, message: Message): void {
  const others = presence.others();
  if (others.length === 0) return;
  background.run(
    "telling other instances",
    () => store.transact((tx) => others.forEach((to) => sendMessage(ports, tx, to, message))),
  );
}

/** Sends an agent its policies, if it is linked here. */
function pushToAgent(app: Relay, tenant: Tenant, agentId: string): void {
  const link = app.links.of(tenant, agentId);
  if (link !== undefined) pushPolicies(app, [link]);
}

/** Tells the instance that holds an agent's link that a command is queued for the agent. */
function tellHolder(app: Relay, tenant: Tenant, agentId: string): void {
  const { background, links, ports, store } = app;
  if (store.sole) return;
  background.run("telling the agent's instance of a command", async () => {
    const agent = await store.get(agents, tenant, agentId);
    const holder = agent && links.holder(agent);
    if (!holder) return;
    const message = { kind: "approved", tenant, agent_id: agentId } as const;
    await store.transact((tx) => sendMessage(ports, tx, holder, message));
  });
}

/** Tells the instance that drives a fleet command to look at it: this one may have lost it without knowing yet. */
function tellDriver({ background, instance, ports, store }: Relay, tenant: Tenant, id: string) {
  if (store.sole) return;
  background.run("telling the instance that drives a fleet command", async () => {
    const fleet = await store.get(fleetCommands, tenant, id);
    if (fleet === null || fleet.status === "ended" || fleet.owner === instance) return;
    const message = { kind: "fleet_command", tenant, id } as const;
    await store.transact((tx) => sendMessage(ports, tx, fleet.owner, message));
  });
}

/** Handles a message of another instance. Handling one twice has no further effect. */
export async function takeMessage(app: Relay, value: unknown): Promise<void> {
  const { commands, elsewhere, inquiries, links, liveOutput, signals } = app;
  const message = readMessage(value);
  switch (message?.kind) {
    case "queued":
      return await startHandedOver(app, message.tenant, {
        id: message.command_id,
        agentId: message.agent_id,
      });
    case "approved":
      return startQueued(app, message.tenant, message.agent_id);
    case "cancel":
      return void commands.cancel(message.command_id, message.by);
    case "fleet_command":
      return app.fleetCommands.look(message.id);
    case "ended":
      return await elsewhere.ended(message.tenant, message.command_id);
    case "relinked":
      return links.closeOlder(message.tenant, message.agent_id, message.link);
    case "restart":
      return void links.of(message.tenant, message.agent_id)?.send({ type: "restart" });
    case "transfer":
      return app.transfers.begin(message.tenant, message.agent_id);
    case "inspect":
      return await inquiries.take(message);
    case "inspected":
      return inquiries.answered(message);
    case "mcp_session":
      return signals.mcpSessionChangedElsewhere.send({ id: message.id });
    case "mcp_cancel":
      return signals.mcpCallCancelledElsewhere.send({ call: message.call });
    case "follow":
      return liveOutput.remoteReaders.serve(message);
    case "output":
      return await liveOutput.arrived(message.id);
    case "streams_open":
      return app.streamNews.opened(message.at);
    case "commands_started":
      return app.streamNews.startedElsewhere(message.starts);
    case "deliveries_attempted":
      return app.streamNews.attemptedAnywhere(message.webhooks);
    case "relabelled":
      return pushToAgent(app, message.tenant, message.agent_id);
    case "agent_deleted":
      return links.of(message.tenant, message.agent_id)?.close("deleted");
    case "policies_changed":
      return pushPolicies(app, links.serving(message.tenant));
  }
}

/** The keys that this instance watches, and what each one wakes. */
export const watched = (app: Relay): readonly WatchedKey[] => [
  [wakeKey(app.instance), (newest) => void app.inbox.wake(newest)],
  [ANNOUNCEMENT, () => {
    app.links.recheck();
    app.streams.recheck();
    app.signals.rightsAnnounced.send();
  }],
  ...PULSE_KEYS.map((key, pulse) => [key, () => app.log.pulsed(pulse)] as const),
];

/** The store of several instances answers again: resumes at once what else waits for its next turn. */
export function storeReturned({ background, inbox, log, presence, watch }: Relay): void {
  background.run("the renewal of this instance's presence", () => presence.wake());
  background.run("reading messages of other instances", () => inbox.wake());
  log.wake();
  watch.reopen();
}

/** Takes over what a dead instance held. */
export async function takeOver(app: Relay, dead: string): Promise<void> {
  await disconnectAgentsOf(app, dead);
  await recoverCommands(app, { dead });
  await app.fleetCommands.takeOver(dead);
  app.log.wake();
  await dropInbox(app.store, dead);
}

/** What every instance does every 30 s, in this order. */
export const periodicTasks = (app: Relay): Tasks => ({
  numbers: () => app.log.flush(),
  audit: () => app.audit.wake(),
  deliveries: () => app.deliveries.sweep(),
  "scheduled reports": () => makeScheduledReports(app, app.reports),
  reports: () => app.reports.wake(),
  integrations: () => app.integrations.sweep(),
  approvals: () => lapseOverdue(app),
  "lost agents": () => notifyLostAgents(app),
  "expiring keys": () => notifyOfExpiringKeys(app),
  "plan limits": () => notifyOfPlanLimits(app, app.limiter),
  commands: () => sweepQueued(app),
  "fleet commands": () => app.fleetCommands.sweep(),
  sessions: () => app.mcpSessions.sweep(),
  "unused keys": () => app.authenticator.forgetUnusedKeys(),
  "limits of unused keys": () => app.limiter.forgetUnused(),
  "stale agents": () => sweepStaleAgents(app),
  // Policies that another instance applied, and those of agents that were not linked then.
  policies: () => pushPolicies(app, app.links.serving(null)),
  "former keys": () => closeFormerKeyLinks(app),
  "standing things": () => sweepStandingReviews(app, STANDING_KINDS),
  syncs: () => app.syncs.wake(),
  transfers: () => app.transfers.sweep(),
  blobs: () => sweepBlobs(app.store),
  "old deliveries": () => dropExpired(app),
  "old rows": () => dropExpiredRows(app),
  backups: () => app.storeBackups.sweep(),
});

/** How long the stop waits for background work, in ms: what is cut off is due again at the next start. */
const BACKGROUND_MS = 2_000;

/** Waits for running work and records it, in this order: each part before those that it writes to. */
export const stopTasks = (app: Relay): Tasks => ({
  watch: () => app.watch.stop(),
  inbox: () => app.inbox.stop(),
  "news for streams": () => app.streamNews.stop(),
  "fleet commands": () => app.fleetCommands.stop(),
  backups: () => app.storeBackups.stop(),
  links: () => app.links.idle(),
  "ends of links": () => within(app.ports.clock, BACKGROUND_MS, app.background.idle()),
  commands: () => app.commands.stop(),
  deliveries: () => app.deliveries.stop(),
  // A host that hangs must not block the parts after this one.
  outbound: () => app.ports.outbound.close(),
  syncs: () => app.syncs.stop(),
  reports: () => app.reports.stop(),
  integrations: () => app.integrations.stop(),
  background: () => within(app.ports.clock, BACKGROUND_MS, app.background.idle()),
  connections: () => app.limiter.close(),
  commits: () => app.store.idle(),
  usage: () => app.usage.stop(),
  activity: () => app.activity.stop(),
  log: () => app.log.stop(),
  audit: () => app.audit.stop(),
  presence: () => app.presence.stop(),
});
