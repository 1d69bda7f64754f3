import type { Tenant } from "../../kv/store/collection.ts";
import { everyQueued } from "../../kv/store/pages.ts";
import { type AgentRecord, agents } from "../../kv/records/agent.ts";
import { apiKeys } from "../../kv/records/api_key.ts";
import { type DeviceRecord, devices } from "../../kv/records/device.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Actor, App, RequestInfo } from "../work/work.ts";
import type { CloseName } from "../protocol/close_codes.ts";
import { emit, RELAY_ACTOR, useJson } from "../events/events.ts";
import { countAgent } from "./count.ts";
import { lostAt } from "./lost.ts";
import { NO_POLICY_VERSION } from "../policies/policy_cache.ts";
import type { HelloFrame } from "../protocol/protocol.ts";

/** Agents that a space has at most; of those that come at once for the first time a few more may get in. */
const AGENTS_MAX = 10_000;

/** Raised when an agent's link does not open; the message goes to the agent. */
export class RefusedAgent extends Error {
  override readonly name = "RefusedAgent";
  constructor(readonly closeName: CloseName, message: string) {
    super(message);
  }
}

/**
 * Puts an agent on record at its first contact, and its new link at every one, which `verdictKey` signs on.
 * @throws {RefusedAgent}
 */
export async function registerAgent(
  app: App,
  actor: Actor,
  request: Pick<RequestInfo, "id">,
  hello: HelloFrame,
  verdictKey: string,
): Promise<AgentRecord> {
  const { tenant } = actor;
  const work = { ...app, app, actor, request };
  const registered = await app.store.transact(async (tx) => {
    const known = await tx.find(agents, tenant, "public_key", [hello.public_key]);
    const device = actor.kind === "device" ? await tx.get(devices, tenant, actor.id) : null;
    const may = (known === null || await mayClaim(app, tx, tenant, known, actor)) &&
      (device === null || await mayServe(tx, tenant, device, known));
    if (!may && !app.links.mayTellRefusal(actor.id)) return null;
    if (!may) {
      emit(work, tx, tenant, {
        type: "agent_credential_refused",
        resource: { type: "agent", id: known?.id ?? device!.agent_id! },
        details: { name: known?.name ?? hello.agent.name, credential: actor.id },
      });
      return null;
    }
    if (known === null && await app.store.count(agents, tenant) >= AGENTS_MAX) throw full();
    const now = app.ports.clock.now();
    if (known !== null && known.instance !== null) {
      emitDisconnected(app, tx, tenant, known, "replaced");
    }
    const agent = tx.put(agents, tenant, {
      ...(known ?? newAgent(app.ports.entropy.id("agt"), now)),
      name: hello.agent.name,
      version: hello.agent.version,
      platform: hello.agent.platform,
      hostname: hello.agent.hostname,
      labels: { ...hello.agent.labels, ...device?.labels },
      policy_version: heldVersion(hello.policy_version),
      public_key: hello.public_key,
      verdict_key: hello.verdict_key === undefined ? null : verdictKey,
      credential_id: actor.id,
      status: "online",
      instance: app.instance,
      link: (known?.link ?? 0) + 1,
      connected_at_ms: now,
      last_seen_ms: now,
      lost_at_ms: null,
    });
    countAgent(tx, tenant, known?.status ?? null, "online");
    const resource = { type: "agent", id: agent.id } as const;
    const { name, version, platform, hostname, labels } = agent;
    const details = { name, version, platform, hostname, labels };
    if (known === null) {
      const created = { ...details, user: actor.id };
      emit(work, tx, tenant, { type: "agent_created", resource, details: created });
    }
    emit(work, tx, tenant, { type: "agent_connected", resource, details });
    if (device !== null) tx.put(devices, tenant, { ...device, agent_id: agent.id });
    if (actor.kind === "api_key") {
      tx.append(tenant, "api_key_used", useJson(work, tenant, "GET /ws", 101));
    }
    return agent;
  });
  if (registered !== null) return registered;
  throw new RefusedAgent(
    "identity_refused",
    "this agent belongs to another credential, or this credential to another agent: use its own, or " +
      "delete the agent first",
  );
}

const full = () =>
  new RefusedAgent("unavailable", `there are ${AGENTS_MAX} agents already: delete one first`);

/** An agent stays with the credential that registered it, as long as that one is usable. */
async function mayClaim(
  app: App,
  tx: Tx,
  tenant: Tenant,
  agent: AgentRecord,
  actor: Actor,
): Promise<boolean> {
  if (agent.credential_id === actor.id) return true;
  const device = await tx.get(devices, tenant, agent.credential_id);
  if (device !== null) return device.trust !== "trusted";
  const owner = await tx.get(apiKeys, tenant, agent.credential_id);
  return owner === null || owner.revoked_at_ms !== null ||
    app.ports.clock.now() >= owner.expires_at_ms;
}

/** A device serves the agent that registered with it first, as long as there is that one. */
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
  return { id, created_at_ms, reported_status: null, reported_at_ms: null };
}

/** What an agent says that it holds, as its record shows it: null for no policy. */
export const heldVersion = (version: string | undefined): string | null =>
  version === undefined || version === NO_POLICY_VERSION ? null : version;

/** An agent's link has ended; a newer link of the same agent is left alone. */
export async function disconnectAgent(
  app: App,
  tenant: Tenant,
  { id, link }: Pick<AgentRecord, "id" | "link">,
  reason: string,
): Promise<void> {
  await app.store.transact(async (tx) => {
    const agent = await tx.get(agents, tenant, id);
    if (agent === null || agent.link !== link || agent.instance === null) return;
    const lost_at_ms = lostAt(reason, app.ports.clock.now());
    tx.put(agents, tenant, { ...agent, status: "offline", instance: null, lost_at_ms });
    countAgent(tx, tenant, agent.status, "offline");
    emitDisconnected(app, tx, tenant, agent, reason);
  });
}

function emitDisconnected(
  app: App,
  tx: Tx,
  tenant: Tenant,
  agent: AgentRecord,
  reason: string,
): void {
  emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
    type: "agent_disconnected",
    resource: { type: "agent", id: agent.id },
    details: { name: agent.name, reason },
  });
}

/**
 * A sign of life, with what the agent says of its health. Answers why the link should end, if it should:
 * the agent was deleted, has a newer link, or was taken for lost and must register again.
 */
export async function noteHeartbeat(
  app: App,
  tenant: Tenant,
  { id, link }: Pick<AgentRecord, "id" | "link">,
  reported: "ok" | "degraded" | "error",
): Promise<"deleted" | "replaced" | "unavailable" | null> {
  const status = reported === "ok" ? "online" : "degraded";
  return await app.store.transact(async (tx) => {
    const agent = await tx.get(agents, tenant, id);
    if (agent === null) return "deleted";
    if (agent.link !== link) return "replaced";
    if (agent.instance === null) return "unavailable";
    tx.put(agents, tenant, { ...agent, status, last_seen_ms: app.ports.clock.now() });
    if (agent.status === status) return null;
    countAgent(tx, tenant, agent.status, status);
    emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
      type: "agent_health_changed",
      resource: { type: "agent", id },
      details: { name: agent.name, from: agent.status, to: status },
    });
    return null;
  });
}

/** Two heartbeats. A link that works and is given up by mistake is dialled again, and nothing is lost. */
const STALE_MS = 60_000;
const SWEEP_LIMIT = 200;

/** Agents that are on record as linked and are not: their instance died, or could not record the end. */
export async function sweepStaleAgents(app: App): Promise<void> {
  const all = everyQueued(app.store, agents, "linked", { limit: SWEEP_LIMIT });
  for await (const { tenant, record } of all) {
    const linkedHere = record.instance === app.instance &&
      app.links.of(tenant, record.id) !== undefined;
    // One that was seen in the future was so by a clock that has been set right since.
    const sinceMs = Math.abs(app.ports.clock.now() - (record.last_seen_ms ?? 0));
    if (linkedHere || sinceMs < STALE_MS) continue;
    await disconnectAgent(app, tenant, record, "relay_lost");
  }
}
