import type { KeyObject } from "node:crypto";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { type VerdictKeyRecord, verdictKeys } from "../../../kv/records/verdict_key.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import {
  eventJson,
  type KeyMaker,
  makeTenantKey,
  openTenantKey,
  OPERATOR_ACTOR,
} from "../../events/events.ts";
import {
  handoverText,
  MAX_HANDOVERS,
  signText,
  type WelcomeFrame,
} from "../../protocol/protocol.ts";
import type { Sealer } from "../../codec/codec.ts";
import type { Link } from "./link.ts";

/** Creates the keys that sign a new organization's verdicts: one for each space. */
export function insertVerdictKeys(by: KeyMaker, tx: Tx, org: string): void {
  for (const space of ["live", "test"] as const) {
    const tenant: Tenant = { org, space };
    tx.insert(verdictKeys, tenant, { ...makeTenantKey(by, tenant), handovers: [] });
  }
}

/** A tenant's verdict key, ready to sign. */
export interface VerdictKey {
  /** The 32 raw bytes, base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
  readonly handovers: VerdictKeyRecord["handovers"];
}

/** A tenant's verdict key. @throws {Error} without a key, or when it was sealed with another secret */
export async function verdictKeyOf(
  { store, sealer }: { readonly store: Pick<Reader, "get">; readonly sealer: Sealer },
  tenant: Tenant,
): Promise<VerdictKey> {
  const record = await store.get(verdictKeys, tenant, tenantKey(tenant));
  if (record === null) throw new Error(`${tenantKey(tenant)} has no verdict key`);
  const { public_key: publicKey, handovers } = record;
  return { publicKey, privateKey: openTenantKey(sealer, record), handovers };
}

/**
 * Replaces a tenant's verdict key. The old key signs a handover to the new public key, which is returned.
 * @throws {Error} without a key, or when it was sealed with another secret
 */
export async function rotateVerdictKey(by: KeyMaker, tx: Tx, tenant: Tenant): Promise<string> {
  const old = await verdictKeyOf({ store: tx, sealer: by.sealer }, tenant);
  const made = makeTenantKey(by, tenant);
  const signature = signText(old.privateKey, handoverText(made.public_key));
  const handover = { from: old.publicKey, to: made.public_key, signature };
  const handovers = [...old.handovers, handover].slice(-MAX_HANDOVERS);
  tx.put(verdictKeys, tenant, { ...made, handovers });
  const happening = {
    type: "verdict_key_rotated",
    resource: { type: "organization", id: tenant.org },
    details: { verdict_key: made.public_key, previous: old.publicKey, signature },
  } as const;
  const work = { ports: by.ports, actor: OPERATOR_ACTOR };
  tx.append(tenant, happening.type, eventJson(work, tenant, happening));
  return made.public_key;
}

/** The handovers from the key that an agent has pinned to the present one; undefined when there are none. */
export function handoversFrom(
  { handovers }: VerdictKey,
  pinned: string | null | undefined,
): WelcomeFrame["handovers"] {
  const first = handovers.findIndex(({ from }) => from === pinned);
  if (first < 0) return undefined;
  return handovers.slice(first).map(({ to, signature }) => ({ verdict_key: to, signature }));
}

/** The pinned keys from which agents can follow the next rotation. */
export const pinsThatFollow = ({ public_key, handovers }: VerdictKeyRecord): ReadonlySet<string> =>
  new Set([...handovers.slice(1 - MAX_HANDOVERS).map(({ from }) => from), public_key]);

/** The parts that {@link closeFormerKeyLinks} uses. */
interface LinksInUse {
  readonly store: Pick<Reader, "get">;
  readonly links: { serving(tenant: Tenant | null): Link[] };
  readonly commands: { isBusy(link: Link): boolean };
}

/**
 * Closes idle links on which a former key signs, because another process rotated it: their agents come back and
 * follow the new key. A link whose agent follows no handover stays.
 */
export async function closeFormerKeyLinks({ store, links, commands }: LinksInUse): Promise<void> {
  const following = links.serving(null).filter(({ agent }) => agent!.verdict_key !== null);
  for (const some of Map.groupBy(following, ({ tenant }) => tenantKey(tenant)).values()) {
    const { tenant } = some[0]!;
    const key = await store.get(verdictKeys, tenant, tenantKey(tenant));
    for (const link of some) {
      if (link.agent?.verdict_key === key?.public_key || commands.isBusy(link)) continue;
      link.close("going_away", "the verdict key was changed");
    }
  }
}
