import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import type { Sealer } from "../../codec/codec.ts";
import type { Ports } from "../../ports/ports.ts";
import { privateKeyOf, rawPublicKey } from "../../protocol/protocol.ts";

const KEY_BYTES = 32;

/** The parts that making a key uses. */
export interface KeyMaker {
  readonly sealer: Sealer;
  readonly ports: Pick<Ports, "clock" | "entropy">;
}

/** A new Ed25519 key of a tenant, in stored form. */
export function makeTenantKey({ sealer, ports }: KeyMaker, tenant: Tenant) {
  const id = tenantKey(tenant);
  const raw = ports.entropy.bytes(KEY_BYTES);
  return {
    id,
    public_key: rawPublicKey(privateKeyOf(raw)),
    sealed_private_key: sealer.seal(Buffer.from(raw).toString("base64url"), id),
    created_at_ms: ports.clock.now(),
  };
}

/** The private half of a stored key. @throws {Error} when it was sealed with another secret */
export function openTenantKey(
  sealer: Sealer,
  { id, sealed_private_key }: { readonly id: string; readonly sealed_private_key: string },
): KeyObject {
  return privateKeyOf(Buffer.from(sealer.open(sealed_private_key, id), "base64url"));
}
