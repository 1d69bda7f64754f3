import { isWithin } from "../../../kv/store/clock.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { everyQueued } from "../../../kv/store/iterate.ts";
import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import { type DeviceRecord, devices } from "../../../kv/records/device.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Actor, RequestInfo } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { sendMessage } from "../../work/work.ts";
import { type CloseName, type HelloFrame, NO_POLICY_VERSION } from "../../protocol/protocol.ts";
import { emit, keyUseJson, RELAY_ACTOR } from "../../events/events.ts";
import { forEach } from "../at_once.ts";
import { countAgent } from "../count.ts";
import { lostAt } from "./lost_agents.ts";
import { labelsFor, namingFor } from "./introduction.ts";
import { firstAttempt, giveName, releaseName } from "../names.ts";
import { emitUpdated } from "../emit_updated.ts";

/** Agents of one space; simultaneous first contacts may exceed it by a few. */
const AGENTS_MAX = 10_000;

/** Raised when an agent may not open its link; the message is sent to it. */
export class RefusedAgent extends Error {
  override readonly name = "RefusedAgent";
  constructor(readonly closeName: CloseName, message: string) {
    super(message);
  }
}

type Recording = Pick<Context, "store" | "ports" | "signals">;

/** Who opens a link, and where. */
export interface Registration {
  readonly actor: Actor;
  readonly request: Pick<RequestInfo, "id" | "trace">;
  /** The id of the process that holds the link. */
  readonly instance: string;
  readonly links: { mayReportRefusal(credentialId: string): boolean };
}

/**
 * Records an agent at its first contact, and each new link of it. `verdictKey` is the key that signs on the link.
 * @throws {RefusedAgent}
 */
export async function registerAgent(
  { store, ports, signals }: Recording,
  { actor, request, instance, links }: Registration,
  hello: HelloFrame,
  verdictKey: string,
): Promise<AgentRecord> {
  const { tenant } = actor;
  const work = { ports, signals, actor, request };
  const attempts = firstAttempt();
  const registered = await store.transact(async (tx) => {
    const known = await tx.find(agents, tenant, "public_key", [hello.public_key]);
    const device = actor.kind === "device" ? await tx.get(devices, tenant, actor.id) : null;
    const may = (known === null || await mayClaim(tx, tenant, known, actor, ports.clock.now())) &&
      (device === null || await mayServe(tx, tenant, device, known));
    if (!may && !links.mayReportRefusal(actor.id)) return null;
    if (!may) {
      emit(work, tx, tenant, {
        type: "agent_credential_refused",
        resource: { type: "agent", id: known?.id ?? device!.agent_id! },
        details: { name: known?.name ?? hello.agent.name, credential: actor.id },
      });
      return null;
    }
    if (known === null && await store.count(agents, tenant) >= AGENTS_MAX) throw full();
    const now = ports.clock.now();
    if (known !== null && known.instance !== null) {
      emitDisconnected({ ports, signals }, tx, tenant, known, "replaced");
      if (known.instance !== instance) {
        const { id: agent_id, link } = known;
        sendMessage(ports, tx, known.instance, { kind: "relinked", tenant, agent_id, link });
      }
    }
    const names = { store, tx, tenant, entropy: ports.entropy, attempts };
    const agent = tx.put(agents, tenant, {
      ...(known ?? newAgent(ports.entropy.id("agt"), now)),
      ...await namingFor(names, known, device, hello),
      version: hello.agent.version,
      platform: hello.agent.platform,
      hostname: hello.agent.hostname,
      program: programOf(hello),
      ...labelsFor(known, device, hello),
      policy_version: heldVersion(hello.policy_version),
      public_key: hello.public_key,
      verdict_key: hello.verdict_key === undefined ? null : verdictKey,
      credential_id: actor.id,
      status: "online",
      instance,
      link: (known?.link ?? 0) + 1,
      connected_at_ms: now,
      last_seen_ms: now,
      lost_at_ms: null,
    });
    if (device !== null) await releaseName(tx, tenant, device, agent.name);
    await giveName(tx, tenant, agent.id, agent.name, known?.name);
    countAgent(tx, tenant, known?.status ?? null, "online");
    const resource = { type: "agent", id: agent.id } as const;
    const { name, version, platform, hostname, labels } = agent;
    const details = { name, version, platform, hostname, labels };
    if (known === null) {
      const created = { ...details, user: actor.id };
      emit(work, tx, tenant, { type: "agent_created", resource, details: created });
    }
    if (known !== null) emitUpdated(work, tx, tenant, known, agent);
    emit(work, tx, tenant, { type: "agent_connected", resource, details });
    if (device !== null) {
      tx.put(devices, tenant, { ...device, agent_id: agent.id, agent_name: null });
    }
    if (actor.kind === "api_key") {
      tx.append(tenant, "api_key_used", keyUseJson(work, tenant, "GET /ws", 101));
    }
    return agent;
  });
  if (registered !== null) return registered;
  throw new RefusedAgent(
    "identity_refused",
    "this agent belongs to another credential, or this credential to another agent: use the " +
      "agent's own credential, or delete the agent first",
  );
}

const full = () =>
  new RefusedAgent("unavailable", `there are already ${AGENTS_MAX} agents: delete one first`);

/** An agent stays with the credential that registered it while that credential is usable. */
async function mayClaim(
  tx: Tx,
  tenant: Tenant,
  agent: AgentRecord,
  actor: Actor,
  nowMs: number,
): Promise<boolean> {
  if (agent.credential_id === actor.id) return true;
  const device = await tx.get(devices, tenant, agent.credential_id);
  if (device !== null) return device.trust !== "trusted";
  const owner = await tx.get(apiKeys, tenant, agent.credential_id);
  return owner === null || owner.revoked_at_ms !== null || nowMs >= owner.expires_at_ms;
}

/** A device serves the agent that registered with it first, until that agent is deleted. */
async function mayServe(
  tx: Tx,
  tenant: Tenant,
  { agent_id }: DeviceRecord,
  agent: AgentRecord | null,
): Promise<boolean> {
  if (agent_id === null || agent_id === agent?.id) return true;
  return await tx.get(agents, tenant, agent_id) === null;
}

function newAgent(id: string, created_at_ms: number) {
  return { id, created_at_ms, reported_status: null, reported_at_ms: null, witnessed: null };
}

function programOf({ program }: HelloFrame): AgentRecord["program"] {
  if (program === undefined) return null;
  const { form, upgrade = null, failed = null } = program;
  return { form, upgrade, failed };
}

/** The policy version that an agent reports, as its record shows it: null for no policy. */
export const heldVersion = (version: string | undefined): string | null =>
  version === undefined || version === NO_POLICY_VERSION ? null : version;

/** Records that an agent's link has closed, unless the agent has a newer link. */
export async function disconnectAgent(
  { store, ports, signals }: Recording,
  tenant: Tenant,
  { id, link }: Pick<AgentRecord, "id" | "link">,
  reason: string,
): Promise<void> {
  await store.transact(async (tx) => {
    const agent = await tx.get(agents, tenant, id);
    if (agent === null || agent.link !== link || agent.instance === null) return;
    const lost_at_ms = lostAt(reason, ports.clock.now());
    tx.put(agents, tenant, { ...agent, status: "offline", instance: null, lost_at_ms });
    countAgent(tx, tenant, agent.status, "offline");
    emitDisconnected({ ports, signals }, tx, tenant, agent, reason);
  });
}

function emitDisconnected(
  by: Pick<Context, "ports" | "signals">,
  tx: Tx,
  tenant: Tenant,
  agent: AgentRecord,
  reason: string,
): void {
  emit({ ...by, actor: RELAY_ACTOR }, tx, tenant, {
    type: "agent_disconnected",
    resource: { type: "agent", id: agent.id },
    details: { name: agent.name, reason },
  });
}

/**
 * Records a heartbeat and the health that the agent reports. Returns why the link should close, if it should:
 * the agent was deleted, has a newer link, or was recorded as lost and must register again.
 */
export async function noteHeartbeat(
  { store, ports, signals }: Recording,
  tenant: Tenant,
  { id, link }: Pick<AgentRecord, "id" | "link">,
  reported: "ok" | "degraded" | "error",
): Promise<"deleted" | "replaced" | "unavailable" | null> {
  const status = reported === "ok" ? "online" : "degraded";
  return await store.transact(async (tx) => {
    const agent = await tx.get(agents, tenant, id);
    if (agent === null) return "deleted";
    if (agent.link !== link) return "replaced";
    if (agent.instance === null) return "unavailable";
    tx.put(agents, tenant, { ...agent, status, last_seen_ms: ports.clock.now() });
    if (agent.status === status) return null;
    countAgent(tx, tenant, agent.status, status);
    emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
      type: "agent_health_changed",
      resource: { type: "agent", id },
      details: { name: agent.name, from: agent.status, to: status },
    });
    return null;
  });
}

/** Disconnects the agents whose links a dead instance held. */
export async function disconnectAgentsOf(by: Recording & Pick<Context, "store">, instance: string) {
  const all = everyQueued(by.store, agents, "linked", { prefix: [instance], limit: SWEEP_LIMIT });
  await forEach(all, ({ tenant, record }) => disconnectAgent(by, tenant, record, "relay_lost"));
}

/** Two heartbeats. An agent whose working link is closed by mistake reconnects, and nothing is lost. */
const STALE_MS = 60_000;
const SWEEP_LIMIT = 200;

/** The parts that the sweep of stale agents uses. */
export interface AgentSweep extends Recording {
  readonly instance: string;
  readonly links: { of(tenant: Tenant, agentId: string): unknown };
  readonly presence: { isLive(instance: string): boolean };
}

/** Disconnects agents that are recorded as linked but are not: their process died, or could not record the end. */
export async function sweepStaleAgents(by: AgentSweep): Promise<void> {
  const all = everyQueued(by.store, agents, "linked", { limit: SWEEP_LIMIT });
  await forEach(all, async ({ tenant, record }) => {
    const linkedHere = record.instance === by.instance &&
      by.links.of(tenant, record.id) !== undefined;
    if (record.instance !== by.instance && by.presence.isLive(record.instance!)) return;
    const now = by.ports.clock.now();
    if (linkedHere || isWithin(record.last_seen_ms ?? 0, STALE_MS, now)) return;
    await disconnectAgent(by, tenant, record, "relay_lost");
  });
}
