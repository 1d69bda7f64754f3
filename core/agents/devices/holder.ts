import { hash } from "node:crypto";
import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { type DeviceRecord, devices } from "../../../kv/records/device.ts";
import { organizations } from "../../../kv/records/organization.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Actor } from "../../identity/identity.ts";
import { DEVICE_PREFIX, isChecked } from "../../access/access.ts";
import { Fault } from "../../fault/fault.ts";

/** Authenticates people and API keys. */
interface Authenticator {
  /** @throws {Fault} MISSING_CREDENTIALS, INVALID_API_KEY, INVALID_TOKEN */
  authenticate(credential: string | null, space: Tenant["space"]): Promise<Actor>;
}

/**
 * The holder of a credential where devices are accepted too: sockets and heartbeats.
 * @throws {Fault} MISSING_CREDENTIALS, INVALID_API_KEY, INVALID_TOKEN
 */
export async function authenticateSocket(
  { store, authenticator }: { readonly store: Reader; readonly authenticator: Authenticator },
  credential: string | null,
  space: Tenant["space"],
): Promise<Actor> {
  if (!credential?.startsWith(DEVICE_PREFIX)) {
    return await authenticator.authenticate(credential, space);
  }
  if (!isChecked(credential)) throw refusal("malformed", "It is mistyped or incomplete.");
  const found = await store.lookup(devices, "credential", [hash("sha256", credential)]);
  if (found === null) {
    throw refusal("unknown", "The device was deleted or never existed. Pair it again.");
  }
  const actor = await deviceActor(store, found.tenant, found.record);
  if (actor === null) throw refusal("inactive", "Its organization is not active.");
  return actor;
}

/** The holder of a device's credential now; null when it is no longer accepted. */
export async function deviceHolder(
  db: Reader,
  tenant: Tenant,
  id: string,
): Promise<Actor | null> {
  const device = await db.get(devices, tenant, id);
  return device?.trust === "trusted" ? await deviceActor(db, tenant, device) : null;
}

/** A device has no rights: it may only open its own link. */
async function deviceActor(
  db: Reader,
  tenant: Tenant,
  device: DeviceRecord,
): Promise<Actor | null> {
  const organization = await db.get(organizations, SYSTEM, tenant.org);
  if (!organization?.active) return null;
  return {
    kind: "device",
    id: device.id,
    tenant,
    rights: new Set(),
    userId: device.created_by,
    plan: organization.plan,
    host: organization.host,
    sessionId: null,
    expiresAtMs: Infinity,
    planPerMinute: undefined,
    planLimits: organization.limits,
    key: null,
  };
}

const refusal = (reason: string, why: string) =>
  new Fault("INVALID_API_KEY", `The device's credential is not accepted. ${why}`, { reason });
