import {
  type LinkIdentity,
  type PolicyFrame,
  policyText,
  policyVersionOf,
  type RunFrame,
  signText,
  type TransferFrame,
  transferText,
  type UpgradeFrame,
  upgradeText,
  verdictText,
  type WelcomeFrame,
  welcomeText,
} from "../../protocol/protocol.ts";
import type { DigestedOrder, UpgradeOrder } from "./link.ts";
import type { VerdictKey } from "./verdict_keys.ts";

/** Exceeds the time that any frame is under way; an agent must not follow an order that it gets later. */
const ORDER_TTL_MS = 60_000;

/** Signs the frames of one link. */
export interface LinkSigner {
  /** The signed fields of `welcome`. */
  welcome(nowMs: number): Pick<WelcomeFrame, "time_ms" | "verdict_key" | "signature">;
  policies(documents: PolicyFrame["policies"]): PolicyFrame;
  /** An order for a backup, a restore or a dry run of one. */
  transfer(order: Omit<TransferFrame, "type" | "serial" | "signature">): TransferFrame;
  /** An order to replace the agent's program. */
  upgrade(order: UpgradeOrder, nowMs: number): UpgradeFrame;
  /** The next batch, and the name of its verdict in receipts. */
  run(orders: readonly DigestedOrder[], nowMs: number): { frame: RunFrame; verdict: string };
}

/** Opens the signer of one link; it numbers batches, policies, transfers and upgrades from 1. */
export function openSigner(
  key: Pick<VerdictKey, "publicKey" | "privateKey">,
  link: LinkIdentity,
): LinkSigner {
  let last = 0;
  let serial = 0;
  let transfers = 0;
  let upgrades = 0;
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
    upgrade(order, nowMs) {
      const expires_at_ms = nowMs + ORDER_TTL_MS;
      const frame = { type: "upgrade", serial: ++upgrades, expires_at_ms, ...order } as const;
      return { ...frame, signature: signText(key.privateKey, upgradeText(link, frame)) };
    },
    run(orders, nowMs) {
      const batch = ++last;
      const expires_at_ms = nowMs + ORDER_TTL_MS;
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
