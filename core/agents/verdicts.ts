import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import { type Tenant, tenantKey } from "../../kv/collection.ts";
import { verdictKeys } from "../../kv/records/verdict_key.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App } from "../app.ts";
import type { CommandOrder, PolicyFrame, RunFrame } from "../protocol.ts";
import {
  type LinkIdentity,
  policyText,
  policyVersionOf,
  privateKeyOf,
  rawPublicKey,
  signText,
  transferText,
  verdictText,
  welcomeText,
} from "../statements.ts";
import type { TransferFrame } from "../transfer_frames.ts";

const KEY_BYTES = 32;
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
    const id = tenantKey(tenant);
    const raw = app.ports.entropy.bytes(KEY_BYTES);
    const sealed = app.sealer.seal(Buffer.from(raw).toString("base64url"), id);
    tx.insert(verdictKeys, tenant, {
      id,
      public_key: rawPublicKey(privateKeyOf(raw)),
      sealed_private_key: sealed,
      created_at_ms: app.ports.clock.now(),
    });
  }
}

/** A tenant's verdict key, ready to sign. */
export interface VerdictKey {
  /** The 32 raw bytes, base64url. */
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

/** @throws {Error} for a tenant that has none, or whose key was sealed with another secret */
export async function verdictKeyOf({ store, sealer }: App, tenant: Tenant): Promise<VerdictKey> {
  const record = await store.get(verdictKeys, tenant, tenantKey(tenant));
  if (record === null) throw new Error(`${tenantKey(tenant)} has no verdict key`);
  const raw = sealer.open(record.sealed_private_key, record.id);
  const privateKey = privateKeyOf(Buffer.from(raw, "base64url"));
  return { publicKey: record.public_key, privateKey };
}

/** Signs what one link says. */
export interface LinkSigner {
  /** What `welcome` says besides its own facts. */
  welcome(nowMs: number): { time_ms: number; verdict_key: string; signature: string };
  /** The policies that the agent shall hold. */
  policies(documents: PolicyFrame["policies"]): PolicyFrame;
  /** Orders a backup, a restore or its rehearsal. */
  transfer(order: Omit<TransferFrame, "type" | "serial" | "signature">): TransferFrame;
  /** The next batch, and the name of its verdict in receipts. */
  run(orders: readonly DigestedOrder[], nowMs: number): { frame: RunFrame; verdict: string };
}

export function openSigner(key: VerdictKey, link: LinkIdentity): LinkSigner {
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
