import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import { type Tenant, tenantKey } from "../../kv/collection.ts";
import { auditKeys } from "../../kv/records/audit.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App } from "../app.ts";
import { privateKeyOf, rawPublicKey } from "../statements.ts";
import type { NoteKey } from "./note.ts";

const KEY_BYTES = 32;

/** A tenant's audit key, ready to sign. */
export interface AuditKey extends NoteKey {
  readonly privateKey: KeyObject;
}

/** The name of a tenant's log and of its key in every checkpoint. */
export const originOf = (tenant: Tenant): string => `relay/${tenantKey(tenant)}`;

/** Gives a new organization the keys that sign its checkpoints: one for each space. */
export function insertAuditKeys(app: App, tx: Tx, org: string): void {
  for (const space of ["live", "test"] as const) {
    const tenant: Tenant = { org, space };
    const id = tenantKey(tenant);
    const raw = app.ports.entropy.bytes(KEY_BYTES);
    tx.insert(auditKeys, tenant, {
      id,
      public_key: rawPublicKey(privateKeyOf(raw)),
      sealed_private_key: app.sealer.seal(Buffer.from(raw).toString("base64url"), id),
      created_at_ms: app.ports.clock.now(),
    });
  }
}

/** @throws {Error} for a tenant that has none, or whose key was sealed with another secret */
export async function auditKeyOf({ store, sealer }: App, tenant: Tenant): Promise<AuditKey> {
  const record = await store.get(auditKeys, tenant, tenantKey(tenant));
  if (record === null) throw new Error(`${tenantKey(tenant)} has no audit key`);
  const raw = sealer.open(record.sealed_private_key, record.id);
  return {
    name: originOf(tenant),
    publicKey: record.public_key,
    privateKey: privateKeyOf(Buffer.from(raw, "base64url")),
  };
}
