import type { KeyObject } from "node:crypto";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { auditKeys, auditTreeId, auditTrees } from "../../../kv/records/audit.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { eventJson } from "../emit.ts";
import { OPERATOR_ACTOR } from "../emit.ts";
import { iso, type Sealer } from "../../codec/codec.ts";
import {
  keyText,
  MAX_HANDOVERS,
  namesKey,
  type NoteKey,
  readHandover,
  signHandover,
} from "../../protocol/protocol.ts";
import { type KeyMaker, makeTenantKey, openTenantKey } from "./tenant_keys.ts";

/** The public key of a log, and the signed handovers from its predecessors, oldest first. */
export interface PublicKey extends NoteKey {
  readonly handovers: readonly string[];
}

/** A tenant's audit key with its private half. */
export interface AuditKey extends PublicKey {
  readonly privateKey: KeyObject;
}

/** The origin line of a tenant's checkpoints: the name of its log and key. */
export const originOf = (tenant: Tenant): string => `relay/${tenantKey(tenant)}`;

/** Creates the checkpoint keys of a new organization, one for each space. */
export function insertAuditKeys(by: KeyMaker, tx: Tx, org: string): void {
  for (const space of ["live", "test"] as const) {
    const tenant: Tenant = { org, space };
    tx.insert(auditKeys, tenant, { ...makeTenantKey(by, tenant), handovers: [] });
  }
}

/**
 * The present key. Read it after the size that it will sign: then a key that is replaced meanwhile never signs
 * more rows than its handover states.
 * @throws {Error} for a tenant that has none, or whose key was sealed with another secret
 */
export async function auditKeyOf(
  { store, sealer }: { readonly store: Pick<Reader, "get">; readonly sealer: Sealer },
  tenant: Tenant,
): Promise<AuditKey> {
  const record = await store.get(auditKeys, tenant, tenantKey(tenant));
  if (record === null) throw new Error(`${tenantKey(tenant)} has no audit key`);
  return {
    name: originOf(tenant),
    publicKey: record.public_key,
    privateKey: openTenantKey(sealer, record),
    handovers: record.handovers,
  };
}

/** The key that signed a note of the log: the present one or a predecessor. */
export function signerOf(key: PublicKey, note: string): PublicKey {
  if (namesKey(note, key)) return key;
  const former = key.handovers.map((handover) => readHandover(handover)!.from);
  const at = former.findIndex((from) => namesKey(note, from));
  return at < 0 ? key : { ...former[at]!, handovers: key.handovers.slice(0, at) };
}

/**
 * Replaces a tenant's audit key by a new one, with a handover signed by both; returns the new public key.
 * @throws {Error} for a tenant that has none, or whose key was sealed with another secret
 */
export async function rotateAuditKey(by: KeyMaker, tx: Tx, tenant: Tenant): Promise<string> {
  const old = await auditKeyOf({ store: tx, sealer: by.sealer }, tenant);
  const tree = await tx.get(auditTrees, tenant, auditTreeId(tenant));
  const rows = tree?.size ?? 0;
  const made = makeTenantKey(by, tenant);
  const privateKey = openTenantKey(by.sealer, made);
  const key = { name: old.name, publicKey: made.public_key, privateKey };
  const handover = signHandover(old, key, rows, iso(made.created_at_ms));
  const handovers = [...old.handovers, handover].slice(-MAX_HANDOVERS);
  tx.put(auditKeys, tenant, { ...made, handovers });
  const event = {
    type: "audit_key_rotated",
    resource: { type: "organization", id: tenant.org },
    details: { public_key: keyText(key), previous: keyText(old), rows, handover },
  } as const;
  const work = { ports: by.ports, actor: OPERATOR_ACTOR };
  tx.append(tenant, event.type, eventJson(work, tenant, event));
  return keyText(key);
}
