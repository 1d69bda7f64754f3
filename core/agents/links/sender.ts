import {
  type Batch,
  type CloseName,
  jsonBytesMax,
  MAX_RELAY_FRAME_BYTES,
  NO_POLICY_VERSION,
  openBatch,
  type RelayFrame,
  type RunFrame,
  type TransferKind,
} from "../../protocol/protocol.ts";
import type { Clock } from "../../ports/ports.ts";
import type { AgentPolicies, CommandListener, DigestedOrder, UpgradeOrder } from "./link.ts";
import type { LinkSigner } from "./link_signer.ts";

/** Closes links whose agents read slowly, since unsent frames take the relay's memory. */
const BUFFERED_BYTES_MAX = 4 * 1024 * 1024;
/** The bytes that a command takes in its frame, without its text. */
const ORDER_BYTES = 384;

/** The socket of a link. */
export interface Wire {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** Bytes that the other side has not read yet. */
  readonly bufferedBytes: number;
}

/** Sends the frames of one link in order; commands of one turn of the event loop go in one signed message. */
export class Sender {
  #signer: LinkSigner | null = null;
  /** The policies that the agent was sent last, or says that it holds. */
  policyVersion = NO_POLICY_VERSION;
  readonly #orders: Batch<DigestedOrder> = openBatch(
    MAX_RELAY_FRAME_BYTES,
    (orders) => this.#sendOrders(orders),
  );

  constructor(
    private readonly wire: Wire,
    private readonly clock: Clock,
    private readonly commands: Pick<CommandListener, "sent" | "unsent">,
    /** False while other instances may take over what this one holds. */
    private readonly mayHold: () => boolean,
    /** Called when nothing may be sent any more. */
    private readonly stop: (why: CloseName) => void,
  ) {}

  /** Signs with this key from now on. */
  open(signer: LinkSigner): void {
    this.#signer = signer;
  }

  /** Queues a command; needs a signer. */
  run(digested: DigestedOrder): void {
    this.#orders.add(digested, jsonBytesMax(digested.order.command) + ORDER_BYTES);
  }

  /** Sends a frame after the queued commands; false when nothing may be sent. */
  send(frame: Exclude<RelayFrame, RunFrame>): boolean {
    this.#orders.flush();
    const obstacle = this.#obstacle();
    if (obstacle !== null) {
      this.stop(obstacle);
      return false;
    }
    this.wire.send(JSON.stringify(frame));
    return true;
  }

  /** Sends policies, unless the agent has this version; needs a signer. */
  sendPolicies({ version, documents }: AgentPolicies): void {
    if (version === this.policyVersion) return;
    this.policyVersion = version;
    this.send(this.#signer!.policies(documents));
  }

  /** Orders a transfer; needs a signer. */
  transfer(job_id: string, kind: TransferKind, sha256: string | null, stored_bytes: number) {
    return this.send(this.#signer!.transfer({ job_id, kind, sha256, stored_bytes }));
  }

  /** Orders an upgrade; needs a signer. */
  upgrade(order: UpgradeOrder): boolean {
    return this.send(this.#signer!.upgrade(order, this.clock.now()));
  }

  /** The link has closed: reports the queued commands as unsent. */
  end(): void {
    for (const { order } of this.#orders.drain()) this.commands.unsent(order.command_id);
  }

  #sendOrders(orders: readonly DigestedOrder[]): void {
    const obstacle = this.#obstacle();
    if (obstacle !== null) {
      for (const { order } of orders) this.commands.unsent(order.command_id);
      return this.stop(obstacle);
    }
    const { frame, verdict } = this.#signer!.run(orders, this.clock.now());
    for (const { order } of orders) this.commands.sent(order.command_id, verdict);
    this.wire.send(JSON.stringify(frame));
  }

  /** Why nothing may be sent, seen at the moment of sending: a process may have been frozen before it. */
  #obstacle(): CloseName | null {
    if (this.#signer !== null && !this.mayHold()) return "going_away";
    return this.wire.bufferedBytes <= BUFFERED_BYTES_MAX ? null : "too_slow";
  }
}
