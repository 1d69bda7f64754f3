import { hash } from "node:crypto";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import {
  type ActionRef,
  type AgentStateRecord,
  agentStates,
} from "../../../kv/records/agent_state.ts";
import { type BackupRecord, backups } from "../../../kv/records/backup.ts";
import { policySetOf, policyVersions } from "../../../kv/records/gitops.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { heldVersion } from "../../agents/agents.ts";
import type { Reading } from "../../work/work.ts";
import type { Context } from "../../context/context.ts";
import { canonicalJson, iso, isoOrNull } from "../../codec/codec.ts";
import { type DetailsOf, emit, RELAY_ACTOR } from "../../events/events.ts";
import type { StateFrame } from "../../protocol/protocol.ts";
import type { PolicyCache } from "../policy_cache.ts";
import { versionId } from "../policy_set.ts";
import { findDriftCause } from "./drift_cause.ts";
import { reportOf, type ReportParts } from "./report.ts";

const FILES = "files";

/** A comparison of one policy, or of all files: what is applied to an agent, and what the agent reports. */
interface Compared {
  readonly item: string;
  readonly kind: "policy" | "files";
  readonly applied: { readonly version: string; readonly digest: string } | null;
  readonly reported: { readonly digest: string } | null;
  readonly status: "in_sync" | "changed" | "missing" | "unexpected" | "pending";
}

type Reported = Pick<AgentStateRecord, "policies" | "files">;

/** Compares everything that is applied to an agent with what it reports. */
async function compare(
  policyCache: PolicyCache,
  db: Reader,
  tenant: Tenant,
  agent: AgentRecord,
  reported: Reported,
): Promise<Compared[]> {
  const set = await policySetOf(db, tenant);
  const sent = await policyCache.forAgent(tenant, set, agent.labels);
  // Policies that the agent has not confirmed yet are still on their way, which is not drift.
  const confirmed = heldVersion(sent.version) === agent.policy_version;
  const left = new Map(reported.policies.map(({ name, sha256 }) => [name, sha256]));
  const items: Compared[] = sent.documents.map((document) => {
    const name = String(document["name"]);
    const digest = hash("sha256", canonicalJson(document));
    const own = left.get(name);
    left.delete(name);
    const version = set.items.find((item) => item.name === name)?.version ?? 0;
    const drifted = own === undefined ? "missing" : "changed";
    return {
      item: `policy:${name}`,
      kind: "policy",
      applied: { version: String(version), digest },
      reported: own === undefined ? null : { digest: own },
      status: own === digest ? "in_sync" : confirmed ? drifted : "pending",
    };
  });
  for (const [name, digest] of left) {
    const status = confirmed ? "unexpected" : "pending";
    items.push({
      item: `policy:${name}`,
      kind: "policy",
      applied: null,
      reported: { digest },
      status,
    });
  }
  const backup = await lastBackup(db, tenant, agent.id);
  if (backup === null || backup.roots.length === 0) return items;
  const digest = backup.files_sha256 ?? "";
  const now = reported.files?.sha256;
  return [...items, {
    item: FILES,
    kind: "files",
    applied: { version: backup.id, digest },
    reported: now === undefined ? null : { digest: now },
    status: now === digest ? "in_sync" : now === undefined ? "missing" : "changed",
  }];
}

/** The last backup that somebody asked for; the agent's files are compared with it. */
async function lastBackup(
  db: Reader,
  tenant: Tenant,
  agentId: string,
): Promise<BackupRecord | null> {
  const options = { index: "complete", prefix: [agentId], limit: 50, reverse: true };
  const { items } = await db.list(backups, tenant, options);
  return items.find(({ reason }) => reason === "requested") ?? null;
}

/** Records the state that an agent reports, and the drift in it. Never fails. */
export async function noteState(
  { store, log, ports, signals, policyCache }:
    & Pick<Context, "store" | "log" | "ports" | "signals">
    & { readonly policyCache: PolicyCache },
  tenant: Tenant,
  { id, link }: Pick<AgentRecord, "id" | "link">,
  frame: StateFrame,
): Promise<void> {
  try {
    const { type: _type, serial: _serial, ...state } = frame;
    const known = await store.get(agentStates, tenant, id);
    const agent = await store.get(agents, tenant, id);
    if (agent === null) return;
    const items = await compare(policyCache, store, tenant, agent, state);
    const out = items.filter(isDrift);
    const isNew = out.some(({ item }) => !known?.drift.some((one) => one.item === item));
    const by = isNew ? await findDriftCause({ log }, tenant, agent, state.roots) : {};
    await store.transact(async (tx) => {
      const before = await tx.get(agentStates, tenant, id);
      const now = await tx.get(agents, tenant, id);
      if (now === null || now.link !== link) return;
      const nowMs = ports.clock.now();
      const drift = out.map(({ item, kind, status }) => {
        const known = before?.drift.find((one) => one.item === item);
        const { since_ms, by: who } = known ?? { since_ms: nowMs, by: by[kind] ?? null };
        return { item, status, since_ms, by: who };
      });
      const record: AgentStateRecord = { id, ...state, reported_at_ms: nowMs, drift };
      if (before !== null && isSame(before, record)) return;
      tx.put(agentStates, tenant, record);
      const had = new Set(before?.drift.map(({ item }) => item));
      const has = new Set(drift.map(({ item }) => item));
      for (const one of drift) {
        if (!had.has(one.item)) emitDrift("drift_detected", one.item, one.status);
      }
      for (const item of had) if (!has.has(item)) emitDrift("drift_resolved", item, "in_sync");

      function emitDrift(
        type: "drift_detected" | "drift_resolved",
        item: string,
        status: DetailsOf<typeof type>["status"],
      ) {
        emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
          type,
          resource: { type: "agent", id },
          details: { name: now!.name, item, status },
        });
      }
    });
  } catch (error) {
    ports.log.error("an agent's state could not be recorded", { error: String(error) });
  }
}

const isDrift = (
  one: Compared,
): one is Compared & { status: "changed" | "missing" | "unexpected" } =>
  one.status !== "in_sync" && one.status !== "pending";

/** True when two reports differ only in their time. */
function isSame(before: AgentStateRecord, record: AgentStateRecord): boolean {
  const bare = ({ reported_at_ms: _at, ...rest }: AgentStateRecord) => canonicalJson(rest);
  return bare(before) === bare(record);
}

/**
 * Compares what is applied to an agent with what it reports; a linked agent is asked now.
 * @throws {Fault} AGENT_NOT_FOUND
 */
export async function getDrift(
  work: Reading,
  { inquiries, policyCache }: ReportParts,
  agentId: string,
) {
  const { db, actor: { tenant } } = work;
  const { agent, reached, state, reported_at } = await reportOf(work, inquiries, agentId);
  const reported = state ?? { policies: [], files: null };
  const compared = await compare(policyCache, db, tenant, agent, reported);
  const items = [];
  for (const one of compared) {
    const noted = state?.drift.find(({ item }) => item === one.item);
    const by = one.status === "pending" ? await appliedBy(db, tenant, one) : noted?.by ?? null;
    const since = isDrift(one) ? isoOrNull(noted?.since_ms ?? null) : by && iso(by.at_ms);
    const status = state === null ? "unknown" as const : one.status;
    items.push({ ...one, status, since, by: by && showAction(by) });
  }
  return {
    agent_id: agentId,
    drifted: state !== null && compared.some(isDrift),
    reached,
    reported_at,
    problem: state?.problem ?? null,
    items,
  };
}

/** The apply of a policy that the agent has not confirmed yet. */
async function appliedBy(
  db: Reader,
  tenant: Tenant,
  { item, applied }: Compared,
): Promise<ActionRef | null> {
  const set = await policySetOf(db, tenant);
  const policy = set.items.find(({ name }) => `policy:${name}` === item);
  if (policy === undefined || applied === null) return null;
  const version = await db.get(policyVersions, tenant, versionId(policy));
  if (version === null) return null;
  const { created_by: actor } = version;
  return { event_id: "", event_type: "policy_updated", actor, at_ms: policy.updated_at_ms };
}

const showAction = ({ event_id, event_type, actor, at_ms }: ActionRef) => ({
  event_id: event_id === "" ? null : event_id,
  event_type,
  actor,
  at: iso(at_ms),
});
