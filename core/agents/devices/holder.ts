import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { type DeviceRecord, devices } from "../../../kv/records/device.ts";
import { organizations } from "../../../kv/records/organization.ts";
import type { Actor, App } from "../../work/work.ts";
import { DEVICE_PREFIX } from "../../access/authenticate.ts";
import { Fault } from "../../fault/fault.ts";
import { isChecked } from "../../access/keys/value.ts";
import { sha256Hex } from "../../codec/text.ts";

/**
 * Finds out who opens a socket: as everywhere, and a device besides, whose credential is accepted nowhere
 * else.
 * @throws {Fault} MISSING_CREDENTIALS, INVALID_API_KEY, INVALID_TOKEN
 */
export async function authenticateSocket(
  app: App,
  credential: string | null,
  space: Tenant["space"],
): Promise<Actor> {
  if (!credential?.startsWith(DEVICE_PREFIX)) {
    return await app.authenticator.authenticate(credential, space);
  }
  if (!isChecked(credential)) throw refusal("malformed", "It has a typo or was cut.");
  const found = await app.store.lookup(devices, "credential", [sha256Hex(credential)]);
  if (found === null) throw refusal("unknown", "The device was deleted, or never was. Pair it.");
  const actor = await deviceActor(app, found.tenant, found.record);
  if (actor === null) throw refusal("inactive", "Its organization is not active.");
  return actor;
}

/** The holder of a device's credential now, or null when it is not accepted any more. */
export async function deviceHolder(app: App, tenant: Tenant, id: string): Promise<Actor | null> {
  const device = await app.store.get(devices, tenant, id);
  return device?.trust === "trusted" ? await deviceActor(app, tenant, device) : null;
}

/** It has no rights: what it may do is to open its own link. */
async function deviceActor(app: App, tenant: Tenant, device: DeviceRecord): Promise<Actor | null> {
  const organization = await app.store.get(organizations, SYSTEM, tenant.org);
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
