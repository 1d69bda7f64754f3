import { agents, lastSeenMs } from "../../../kv/records/agent.ts";
import {
  type DeviceRecord,
  devices,
  type PairingCodeRecord,
  pairingCodes,
} from "../../../kv/records/device.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { endingWith, madeKind } from "../../access/access.ts";
import type { Work, Writing } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { releaseName, reservedName } from "../names.ts";
import { listPage, pageOf, type Paging } from "../../../kv/store/paging.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";

/** Codes that a list reads. */
const LISTED_CODES_MAX = 1_000;

interface DeviceFilter {
  readonly trust_status?: "pending" | "trusted" | undefined;
  readonly pairing_code_id?: string | undefined;
}

/** The caller's devices, pending ones first, without deleted ones. */
export async function listDevices(
  { db, actor }: Work,
  { trust_status, pairing_code_id, ...paging }: Paging & DeviceFilter,
) {
  const { tenant } = actor;
  const trust = trust_status === undefined ? [] : [trust_status];
  const by = pairing_code_id === undefined
    ? { index: "listed", prefix: trust }
    : { index: "pairing_code", prefix: [pairing_code_id, ...trust] };
  const options = { ...paging, ...by };
  const { items, pagination } = await listPage(db, devices, tenant, options);
  const shown = await Promise.all(items.map((device) => showDevice(db, tenant, device)));
  return { devices: shown, pagination };
}

/**
 * Ends a device's credential for good. Its link closes after the commit on this instance, and within a second
 * on others.
 * @throws {Fault} NOT_FOUND
 */
export async function deleteDevice({ actor, ports, signals, tx }: Writing, id: string) {
  const device = await tx.get(devices, actor.tenant, id);
  if (device === null || device.trust === "revoked") throw notThere();
  await releaseName(tx, actor.tenant, device, null);
  tx.put(devices, actor.tenant, {
    ...device,
    trust: "revoked",
    agent_name: null,
    credential_hash: null,
    revoked_at_ms: ports.clock.now(),
    revoked_by: actor.id,
  });
  tx.afterCommit(() => signals.credentialEnded.send({ id }));
  return { id, name: device.name, agent_id: device.agent_id };
}

/** Whether a device is trusted now, and why; deleted devices are kept for 90 days. @throws {Fault} NOT_FOUND */
export async function deviceTrust({ actor, db, ports }: Work, id: string) {
  const device = await db.get(devices, actor.tenant, id);
  if (device === null) throw notThere();
  return {
    device_id: id,
    name: device.name,
    trust_status: device.trust,
    trusted: device.trust === "trusted",
    reasons: reasonsOf(device, ports.clock.now()),
  };
}

interface Reason {
  readonly code: string;
  readonly message: string;
  readonly at: string | null;
}

function reasonsOf(device: DeviceRecord, nowMs: number): Reason[] {
  const paired = {
    code: "paired",
    message: `It presented a one-time code created by ${device.created_by}.`,
    at: iso(device.created_at_ms),
  };
  const confirmed = {
    code: "confirmed",
    message: "It confirmed the pairing with its single-use token and received its credential.",
    at: isoOrNull(device.confirmed_at_ms),
  };
  if (device.trust === "revoked") {
    const message = `${device.revoked_by} deleted it; its credential no longer works.`;
    const deleted = { code: "deleted", message, at: isoOrNull(device.revoked_at_ms) };
    return [paired, ...device.confirmed_at_ms === null ? [] : [confirmed], deleted];
  }
  if (device.trust === "trusted") return [paired, confirmed, agentReason(device)];
  const late = nowMs >= device.token_expires_at_ms;
  const waiting = late
    ? {
      code: "token_expired",
      message: "It was not confirmed in time. Delete it, and pair it with a new code.",
    }
    : { code: "unconfirmed", message: "It has not confirmed the pairing with its token yet." };
  return [paired, { ...waiting, at: iso(device.token_expires_at_ms) }];
}

function agentReason({ agent_id }: DeviceRecord): Reason {
  return agent_id === null
    ? { code: "no_agent", message: "No agent has connected with its credential yet.", at: null }
    : {
      code: "agent_bound",
      message: `Its credential is bound to the agent ${agent_id} and to that agent's key.`,
      at: null,
    };
}

/** A device as answers show it. */
export async function showDevice(db: Reader, tenant: Tenant, device: DeviceRecord) {
  const agent = device.agent_id === null ? null : await db.get(agents, tenant, device.agent_id);
  return {
    id: device.id,
    name: device.name,
    agent_name: agent?.name ?? await reservedName(db, tenant, device),
    labels: device.labels,
    trust_status: device.trust,
    agent_id: agent?.id ?? null,
    pairing_code_id: device.pairing_code_id,
    last_seen_at: isoOrNull(agent && lastSeenMs(agent)),
    created_by: device.created_by,
    created_with: device.created_with,
    created_at: iso(device.created_at_ms),
    confirmed_at: isoOrNull(device.confirmed_at_ms),
  };
}

const notThere = () => new Fault("NOT_FOUND", "There is no such device.");

/** Devices, as a cascade from the key that made them ends them. */
export const MADE_DEVICES = madeKind({
  of: devices,
  right: "agents:admin",
  end: endingWith("device_deleted", "device", deleteDevice, ({ name }) => ({ name })),
  works: ({ trust }) => trust !== "revoked",
});

/** The codes that can still pair a device, newest first. */
export async function listPairingCodes({ db, actor, ports }: Work, paging: Paging) {
  const nowMs = ports.clock.now();
  const newest = { limit: LISTED_CODES_MAX, reverse: true };
  const { items } = await db.list(pairingCodes, actor.tenant, newest);
  const page = pageOf(items.filter((code) => isOpen(code, nowMs)), paging);
  const pairing_codes = page.items.map((code) => ({
    id: code.id,
    labels: code.labels,
    created_by: code.created_by,
    created_with: code.created_with,
    expires_at: iso(code.expires_at_ms),
  }));
  return { pairing_codes, pagination: page.pagination };
}

const isOpen = ({ used_at_ms, expires_at_ms }: PairingCodeRecord, nowMs: number): boolean =>
  used_at_ms === null && nowMs < expires_at_ms;

/** Deletes a pairing code that no device has used. @throws {Fault} NOT_FOUND */
export async function deletePairingCode({ actor, tx }: Writing, id: string) {
  const code = await tx.get(pairingCodes, actor.tenant, id);
  if (code === null || code.used_at_ms !== null) {
    throw new Fault("NOT_FOUND", "There is no such pairing code, or it was used.");
  }
  tx.delete(pairingCodes, actor.tenant, id);
  return { id };
}

/** Pairing codes, as a cascade from the key that made them ends them. */
export const MADE_PAIRING_CODES = madeKind({
  of: pairingCodes,
  right: "agents:admin",
  end: endingWith("device_code_deleted", "pairing_code", deletePairingCode, () => ({})),
  works: isOpen,
});
