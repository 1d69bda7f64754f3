import { hash } from "node:crypto";
import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { devices, pairingCodes } from "../../../kv/records/device.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { reserveQuota } from "../../../kv/store/quota.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Stepping, Writing } from "../../work/work.ts";
import { AGENT_RIGHT } from "../links/links.ts";
import {
  type Attempted,
  credentialInHand,
  DEVICE_PREFIX,
  makeCheckedText,
  mustHoldNewValue,
  networkOf,
  notifyAdministrators,
  rightsToGive,
  type Source,
  sourceBy,
} from "../../access/access.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { constantTimeEqual, iso } from "../../codec/codec.ts";
import { firstAttempt, reservedName, reserveName, takeName } from "../names.ts";
import { showDevice } from "./manage.ts";
import { hashPairingCode, makePairingCode } from "./pairing_code.ts";

/** Lifetime of a pairing code, and of a device's token after that. */
const CODE_TTL_MS = 10 * 60 * 1000;
const DEVICES_MAX = 5_000;
const TOKEN_PREFIX = "svc_pairing_";

/**
 * Makes a one-time code, which only this answer shows. The agent of the paired device gets these labels,
 * whatever it reports.
 * @throws {Fault} FORBIDDEN, CONFLICT
 */
export async function createPairingCode(
  work: Writing,
  { labels }: { labels: Readonly<Record<string, string>> },
) {
  const { actor, ports: { clock, entropy }, tx } = work;
  mustHoldNewValue(actor);
  if (await listed(tx, actor.tenant) >= DEVICES_MAX) throw full();
  const pairing_code = makePairingCode(entropy);
  const code = tx.insert(pairingCodes, actor.tenant, {
    id: entropy.id("pco"),
    hash: hashPairingCode(pairing_code),
    labels: { ...labels },
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    expires_at_ms: clock.now() + CODE_TTL_MS,
    used_at_ms: null,
  });
  return { id: code.id, pairing_code, labels, expires_at: iso(code.expires_at_ms) };
}

/** Counts failed attempts by address. */
interface Throttle {
  /** @throws {Fault} RATE_LIMIT_EXCEEDED after too many failures */
  attempt<R>(who: Attempted, attempt: () => Promise<R>): Promise<R>;
}

function attemptsFrom(address: string): Attempted {
  const key = networkOf(address);
  return { key, of: { type: "address", id: key }, whose: "from your network address" };
}

/**
 * Exchanges a one-time code for a single-use token, by which the device confirms the pairing.
 * @throws {Fault} VALIDATION_FAILED for an unknown code, CONFLICT for a used one, GONE for an expired one
 * and for one whose maker lost the right, RATE_LIMIT_EXCEEDED after too many failures
 */
export async function pairDevice(
  work: Stepping,
  throttle: Throttle,
  { device_name, pairing_code }: { device_name: string; pairing_code: string },
) {
  const { ports, request, store } = work;
  const attempts = firstAttempt();
  return await throttle.attempt(attemptsFrom(request.address), () =>
    store.transact(async (tx) => {
      const found = await tx.lookup(pairingCodes, "hash", [hashPairingCode(pairing_code)]);
      if (found === null || !await isActive(tx, found.tenant)) throw unknown("pairing_code");
      const { tenant, record: code } = found;
      const now = ports.clock.now();
      if (code.used_at_ms !== null) throw used("The pairing code", "Create a new one.");
      if (now >= code.expires_at_ms) throw expired("The pairing code", "Create a new one.");
      const source = sourceBy(code.created_by, code.created_with);
      await mustStillPair(tx, tenant, source, now);
      if (
        !await reserveQuota(tx, tenant, devices, DEVICES_MAX, () => listed(tx, tenant))
      ) throw full();
      tx.put(pairingCodes, tenant, { ...code, used_at_ms: now });
      const token = makeCheckedText(TOKEN_PREFIX, ports.entropy);
      const names = { store, tx, tenant, entropy: ports.entropy, attempts };
      const { name: agent_name } = await takeName(names, device_name, null);
      const device = tx.insert(devices, tenant, {
        id: ports.entropy.id("dev"),
        name: device_name,
        agent_name,
        pairing_code_id: code.id,
        labels: code.labels,
        trust: "pending",
        token_hash: hash("sha256", token),
        token_expires_at_ms: now + CODE_TTL_MS,
        credential_hash: null,
        agent_id: null,
        created_by: code.created_by,
        created_with: code.created_with,
        created_at_ms: now,
        confirmed_at_ms: null,
        revoked_at_ms: null,
        revoked_by: null,
      });
      reserveName(tx, tenant, device, device.token_expires_at_ms);
      const happening = {
        type: "device_paired",
        resource: { type: "device", id: device.id },
        details: {
          name: device.name,
          agent_name,
          code_by: code.created_by,
          address: request.address,
        },
      } as const;
      emit({ ...work, actor: { id: device.id } }, tx, tenant, happening);
      await notifyAdministrators(work, tx, tenant, happening);
      return {
        device_id: device.id,
        agent_name,
        token,
        token_expires_at: iso(device.token_expires_at_ms),
        trust_status: device.trust,
      };
    }));
}

/**
 * Exchanges a device's token for its credential, which only this answer shows.
 * @throws {Fault} VALIDATION_FAILED for an unknown device or token, CONFLICT for a used one, GONE for an
 * expired one, RATE_LIMIT_EXCEEDED after too many failures
 */
export async function confirmDevice(
  work: Stepping,
  throttle: Throttle,
  { device_id, token }: { device_id: string; token: string },
) {
  const { ports, request, store } = work;
  return await throttle.attempt(attemptsFrom(request.address), () =>
    store.transact(async (tx) => {
      const found = await tx.lookup(devices, "id", [device_id]);
      const right = constantTimeEqual(found?.record.token_hash ?? "", hash("sha256", token));
      if (found === null || !right || !await isActive(tx, found.tenant)) throw unknown("token");
      const { tenant, record } = found;
      const now = ports.clock.now();
      if (record.trust === "trusted") throw used("The token", "Pair the device again.");
      if (record.trust === "revoked") {
        throw new Fault("GONE", "The device was deleted. Pair it again.", { reason: "deleted" });
      }
      if (now >= record.token_expires_at_ms) throw expired("The token", "Pair the device again.");
      const source = sourceBy(record.created_by, record.created_with);
      await mustStillPair(tx, tenant, source, now);
      const credential = makeCheckedText(DEVICE_PREFIX, ports.entropy);
      const agent_name = await reservedName(tx, tenant, record);
      const device = tx.put(devices, tenant, {
        ...record,
        agent_name,
        trust: "trusted",
        credential_hash: hash("sha256", credential),
        confirmed_at_ms: now,
      });
      reserveName(tx, tenant, device, null);
      emit({ ...work, actor: { id: device.id } }, tx, tenant, {
        type: "device_confirmed",
        resource: { type: "device", id: device.id },
        details: { name: device.name, address: request.address },
      });
      return { device: await showDevice(tx, tenant, device), credential };
    }));
}

async function isActive(db: Reader, tenant: Tenant): Promise<boolean> {
  return (await db.get(organizations, SYSTEM, tenant.org))?.active ?? false;
}

/** The maker of the code must still have the right to pair devices. @throws {Fault} GONE */
async function mustStillPair(
  db: Reader,
  tenant: Tenant,
  source: Source,
  nowMs: number,
): Promise<void> {
  if ((await rightsToGive(db, tenant, source, nowMs)).has(AGENT_RIGHT)) return;
  const message =
    "The creator of the pairing code may no longer pair devices. Ask another administrator " +
    "for a code.";
  throw new Fault("GONE", message, { reason: "void" });
}

const listed = (db: Reader, tenant: Tenant) => db.countBy(devices, tenant, "listed", []);

const full = () =>
  new Fault("CONFLICT", `There are already ${DEVICES_MAX} devices. Delete one first.`);

const unknown = (field: string) =>
  new Fault("VALIDATION_FAILED", "The code or token is unknown. Check it for typing errors.", {
    reason: "unknown",
    issues: [{ path: `body.${field}`, message: "is unknown" }],
  });
const used = (what: string, then: string) =>
  new Fault("CONFLICT", `${what} was already used. ${then}`, { reason: "used" });
const expired = (what: string, then: string) =>
  new Fault("GONE", `${what} has expired. ${then}`, { reason: "expired" });
