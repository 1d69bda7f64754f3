import {
  type CheckpointFrame,
  type CloseName,
  type PolicyFrame,
  readStatement,
  type RunFrame,
  signedTextOf,
  type StateFrame,
  type TransferOrder,
  type TransferReply,
  type UpgradeFrame,
  type WelcomeFrame,
} from "../../protocol/protocol.ts";
import type { Log } from "../../ports/ports.ts";
import type { Commands } from "./commands/commands.ts";
import type { Order } from "./link/link.ts";
import type { Outbox } from "./outbox.ts";
import type { HeldPolicies } from "./policies.ts";
import type { AgentFiles, AgentSocket } from "./interfaces.ts";
import type { Refusals } from "./commands/refusals.ts";
import type { StateReporter, VerdictCounts } from "./state.ts";
import type { AgentTransfers } from "./backup/transfers.ts";
import type { AgentUpgrades } from "./upgrade/receive.ts";
import type { Verdicts } from "./link/verdicts.ts";
import { keepCheckpoint, witnessedSize } from "./witness.ts";

/** A link after its welcome. */
export interface Session {
  readonly welcome: WelcomeFrame;
  readonly nonce: string;
  readonly verdicts: Verdicts;
  readonly socket: AgentSocket;
}

/** The parts that carry out the relay's orders. */
export interface OrderParts {
  readonly stateDir: string;
  readonly log: Log;
  readonly commands: Commands;
  readonly outbox: Outbox;
  readonly policies: HeldPolicies;
  readonly refusals: Refusals;
  readonly state: StateReporter;
  readonly transfers: AgentTransfers;
  readonly upgrades: AgentUpgrades;
  /** Signs with the agent's key; base64url. */
  readonly sign: (text: string) => string;
  /** The files of checkpoints. */
  readonly witnessFiles: Pick<AgentFiles, "read" | "write">;
  readonly counts: VerdictCounts;
  readonly restart: () => void;
}

/** Carries out an order. Returns why the link must end, or null. */
export type Obey = (order: Order, session: Session) => CloseName | null;

/** Opens the handler of the relay's orders. */
export function openOrders(parts: OrderParts): Obey {
  const { stateDir, log, commands, outbox, counts, witnessFiles } = parts;

  function refused(why: string): CloseName {
    counts.refused++;
    counts.last_refusal = why;
    return "verdict_refused";
  }

  function run(frame: RunFrame, { verdicts, nonce }: Session): CloseName | null {
    const why = verdicts.refuse(frame);
    if (why === null) {
      counts.verified++;
      const verdict = `${nonce}.${frame.batch}`;
      for (const order of frame.commands) commands.run(order, verdict);
      return null;
    }
    parts.refusals.add(frame.commands, why);
    for (const { command_id } of frame.commands) {
      outbox.post({ type: "refused", command_id, reason: "unverified", message: why });
    }
    return refused(why);
  }

  function hold(frame: PolicyFrame, { welcome, nonce, socket }: Session): CloseName | null {
    try {
      const why = parts.policies.take(frame, welcome, nonce);
      if (why !== null) {
        log.error(`policies were refused: ${why}`);
        return refused(why);
      }
    } catch (error) {
      // Without a confirmation the relay shows that this agent has other policies.
      log.error(`the policies cannot be stored: ${error}`);
      return null;
    }
    const { policy_version } = frame;
    log.info(`stored the policies ${policy_version} (${frame.policies.length})`);
    socket.send(JSON.stringify({ type: "policy_held", policy_version }));
    return null;
  }

  function witness(frame: CheckpointFrame, { socket }: Session): null {
    try {
      const reason = keepCheckpoint(stateDir, frame, witnessFiles);
      if (reason === null) {
        const { size } = readStatement(frame.note)!;
        const signature = parts.sign(signedTextOf(frame.note));
        socket.send(JSON.stringify({ type: "checkpoint_kept", size, signature }));
        return null;
      }
      const witnessed = witnessedSize(stateDir, witnessFiles);
      const size = readStatement(frame.note)?.size ?? 0;
      log.error(`the relay's audit log contradicts the checkpoint of this agent: ${reason}`);
      socket.send(JSON.stringify({ type: "checkpoint_refused", reason, witnessed, size }));
    } catch (error) {
      log.error(`the stored checkpoint cannot be read: ${error}`);
    }
    return null;
  }

  function upgrade(order: UpgradeFrame, session: Session): CloseName | null {
    const { relayNow } = session.verdicts;
    const why = parts.upgrades.begin(order, { ...session, relayNow, send: sender(session) });
    if (why === null) return null;
    log.error(`an upgrade was refused: ${why}`);
    return refused(why);
  }

  function carry(order: TransferOrder, session: Session): CloseName | null {
    const why = parts.transfers.take(order, { ...session, send: sender(session) });
    if (why === null) return null;
    log.error(`a transfer was refused: ${why}`);
    return refused(why);
  }

  return (order, session) => {
    switch (order.type) {
      case "run":
        return run(order, session);
      case "cancel":
        commands.cancel(order.command_id);
        return null;
      case "policy":
        return hold(order, session);
      case "checkpoint":
        return witness(order, session);
      case "inspect":
        parts.state.answer(order.serial, sender(session));
        return null;
      case "restart":
        parts.restart();
        return null;
      case "upgrade":
        return upgrade(order, session);
      case "transfer_data":
        return parts.upgrades.receive(order) ? null : carry(order, session);
      default:
        return carry(order, session);
    }
  };
}

const sender = ({ socket }: Session) => (frame: StateFrame | TransferReply) =>
  socket.send(JSON.stringify(frame));
