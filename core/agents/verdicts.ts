import type { KeyObject } from "node:crypto";
import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { type VerdictKeyRecord, verdictKeys } from "../../kv/records/verdict_key.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import { eventJson, OPERATOR_ACTOR } from "../events/events.ts";
import {
  type CommandOrder,
  MAX_HANDOVERS,
  type PolicyFrame,
  type RunFrame,
  type WelcomeFrame,
} from "../protocol/protocol.ts";
import {
  handoverText,
  type LinkIdentity,
  policyText,
  policyVersionOf,
  signText,
  transferText,
  verdictText,
  welcomeText,
} from "../protocol/statements.ts";
import type { Sealer } from "../codec/seal.ts";
import { type KeyMaker, makeTenantKey, openTenantKey } from "../events/trail/tenant_keys.ts";
import type { TransferFrame } from "../protocol/transfers.ts";

/** Longer than a frame is ever under way; an agent that gets it later must not run what it holds. */
const VERDICT_TTL_MS = 60_000;

/** A command to send, with the SHA-256 of its UTF-8 bytes in hex. */
export interface DigestedOrder {
  readonly order: CommandOrder;
  readonly sha256: string;
}

/** Gives a new organization the keys that sign its verdicts: one for each space. */
export function insertVerdictKeys(app: App, tx: Tx, org: string): void {
  for (const space of ["live", "test"] as const) {
    const tenant: Tenant = { org, space };
    tx.insert(verdictKeys, tenant, { ...makeTenantKey(app, tenant), handovers: [] });
  }
}

/** A tenant's verdict key, ready to sign. */
export interface VerdictKey {
  /** The 32 raw bytes, base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
  readonly handovers: VerdictKeyRecord["handovers"];
}

/** @throws {Error} for a tenant that has none, or whose key was sealed with another secret */
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
 * Puts a new verdict key in the place of a tenant's, which hands over to it and is gone; answers the new one.
 * @throws {Error} for a tenant that has none, or whose key was sealed with another secret
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

/** The way from the key that an agent has pinned to the present one; undefined when there is none. */
export function handoversFrom(
  { handovers }: VerdictKey,
  pinned: string | null | undefined,
): WelcomeFrame["handovers"] {
  const first = handovers.findIndex(({ from }) => from === pinned);
  if (first < 0) return undefined;
  return handovers.slice(first).map(({ to, signature }) => ({ verdict_key: to, signature }));
}

/** The keys from which an agent that has pinned one would follow the next new key. */
export const pinsThatFollow = ({ public_key, handovers }: VerdictKeyRecord): ReadonlySet<string> =>
  new Set([...handovers.slice(1 - MAX_HANDOVERS).map(({ from }) => from), public_key]);

/**
 * Ends the links on which a former key signs, because it was changed beside this instance, as soon as nothing
 * runs on them: their agents come back and follow. One that follows no hand-over keeps its link while it lasts.
 */
export async function leaveFormerKeys({ store, links, commands }: App): Promise<void> {
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

/** Signs what one link says. */
export interface LinkSigner {
  /** What `welcome` says besides its own facts. */
  welcome(nowMs: number): Pick<WelcomeFrame, "time_ms" | "verdict_key" | "signature">;
  /** The policies that the agent shall hold. */
  policies(documents: PolicyFrame["policies"]): PolicyFrame;
  /** Orders a backup, a restore or its rehearsal. */
  transfer(order: Omit<TransferFrame, "type" | "serial" | "signature">): TransferFrame;
  /** The next batch, and the name of its verdict in receipts. */
  run(orders: readonly DigestedOrder[], nowMs: number): { frame: RunFrame; verdict: string };
}

export function openSigner(
  key: Pick<VerdictKey, "publicKey" | "privateKey">,
  link: LinkIdentity,
): LinkSigner {
  let last = 0;
  let serial = 0;
  let transfers = 0;
  return {
    welcome(time_ms) {
      const text = welcomeText({ agent_id: link.agentId, time_ms }, link.nonce);
      return { time_ms, verdict_key: key.publicKey, signature: signText(key.privateKey, text) };
    },
    policies(policies) {
      const policy_version = policyVersionOf(policies);
      const frame = { type: "policy", serial: ++serial, policy_version, policies } as const;
      return { ...frame, signature: signText(key.privateKey, policyText(link, frame)) };
    },
    transfer(order) {
      const frame = { type: "transfer", serial: ++transfers, ...order } as const;
      return { ...frame, signature: signText(key.privateKey, transferText(link, frame)) };
    },
    run(orders, nowMs) {
      const batch = ++last;
      const expires_at_ms = nowMs + VERDICT_TTL_MS;
      const commands = orders.map(({ order }) => order);
      const frame = { type: "run", batch, expires_at_ms, commands } as const;
      const text = verdictText(link, frame, orders.map(({ sha256 }) => sha256));
      return {
        frame: { ...frame, signature: signText(key.privateKey, text) },
        verdict: `${link.nonce}.${batch}`,
      };
    },
  };
}
