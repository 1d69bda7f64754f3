import type { KeyObject } from "node:crypto";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { auditKeys, auditTreeId, auditTrees } from "../../../kv/records/audit.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App } from "../../work/work.ts";
import { eventJson, OPERATOR_ACTOR } from "../events.ts";
import { iso } from "../../codec/instant.ts";
import { MAX_HANDOVERS } from "../../protocol/protocol.ts";
import type { Sealer } from "../../codec/seal.ts";
import { type KeyMaker, makeTenantKey, openTenantKey } from "./tenant_keys.ts";
import { readHandover, signHandover } from "../../protocol/checkpoints/handover.ts";
import { keyText, namesKey, type NoteKey } from "../../protocol/checkpoints/note.ts";

/** A key of a log, and the notes by which those before it handed over to it, oldest first. */
export interface PublicKey extends NoteKey {
  readonly handovers: readonly string[];
}

/** A tenant's audit key, ready to sign. */
export interface AuditKey extends PublicKey {
  readonly privateKey: KeyObject;
}

/** The name of a tenant's log and of its key in every checkpoint. */
export const originOf = (tenant: Tenant): string => `relay/${tenantKey(tenant)}`;

/** Gives a new organization the keys that sign its checkpoints: one for each space. */
export function insertAuditKeys(app: App, tx: Tx, org: string): void {
  for (const space of ["live", "test"] as const) {
    const tenant: Tenant = { org, space };
    tx.insert(auditKeys, tenant, { ...makeTenantKey(app, tenant), handovers: [] });
  }
}

/**
 * The key that signs now. Ask for it after the size that it shall sign for: then a key that handed over
 * meanwhile has signed for no more than it said.
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

/** The key of a log that signed one of its notes: the present one, or one before it. */
export function signerOf(key: PublicKey, note: string): PublicKey {
  if (namesKey(note, key)) return key;
  const former = key.handovers.map((handover) => readHandover(handover)!.from);
  const at = former.findIndex((from) => namesKey(note, from));
  return at < 0 ? key : { ...former[at]!, handovers: key.handovers.slice(0, at) };
}

/**
 * Puts a new audit key in the place of a tenant's, which hands over to it and is gone; answers the new one.
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
  const happening = {
    type: "audit_key_rotated",
    resource: { type: "organization", id: tenant.org },
    details: { public_key: keyText(key), previous: keyText(old), rows, handover },
  } as const;
  const work = { ports: by.ports, actor: OPERATOR_ACTOR };
  tx.append(tenant, happening.type, eventJson(work, tenant, happening));
  return keyText(key);
}
