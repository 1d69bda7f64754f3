import type { Tenant } from "../../../kv/store/collection.ts";
import type { AgentRecord } from "../../../kv/records/agent.ts";
import type {
  CloseName,
  CommandOrder,
  CommandResult,
  OutputDigests,
  OutputFrame,
  PolicyFrame,
  RefusedFrame,
  RelayFrame,
  RunFrame,
  StateFrame,
  TransferKind,
  TransferReply,
  UpgradeFrame,
} from "../../protocol/protocol.ts";

/** A command to send, with the SHA-256 of its UTF-8 bytes in hex. */
export interface DigestedOrder {
  readonly order: CommandOrder;
  readonly sha256: string;
}

/** The agent's signature for a result, and what it signed. */
export interface Receipt extends OutputDigests {
  readonly verdict: string;
  readonly signature: string;
}

/** A program for an agent, without what the link adds. */
export type UpgradeOrder = Omit<UpgradeFrame, "type" | "serial" | "expires_at_ms" | "signature">;

/** One agent's connection. */
export interface Link {
  readonly tenant: Tenant;
  /** The agent that it serves; null before the agent is registered and after the link has closed. */
  readonly agent: AgentRecord | null;
  /** The API key or device that opened it. */
  readonly credentialId: string;
  /** SHA-256 of the key value that opened it, hex: a rotated key has two values; null for a device. */
  readonly valueHash: string | null;

  /**
   * Queues a command for one message with the others of this turn of the event loop; false when the link is
   * closed. `commands.sent` or `commands.unsent` reports the outcome.
   */
  run(digested: DigestedOrder): boolean;
  /** Sends a frame after the queued commands; false when nothing may be sent, which closes the link. */
  send(frame: Exclude<RelayFrame, RunFrame>): boolean;
  /** Sends the agent its policies, unless it has this version. */
  sendPolicies(policies: AgentPolicies): void;
  /** Notes that the agent holds this version, whatever was sent. */
  holdsPolicies(version: string): void;
  /** Orders a backup, a restore or a dry run of one; false when the link is closed. */
  transfer(
    jobId: string,
    kind: TransferKind,
    sha256: string | null,
    storedBytes: number,
  ): boolean;
  /** Orders an upgrade of the agent's program; false when the link is closed. */
  upgrade(order: UpgradeOrder): boolean;
  /** The agent's state, once it is on record; null when the agent does not answer or the link closes. */
  inspect(): Promise<StateFrame | null>;
  /** Sends the newest checkpoint, which the agent keeps as a witness. */
  witness(): void;
  /** Reports that results were not accepted, and closes the link. */
  refuseReceipt(commandIds: readonly string[], why: string): void;
  /** Closes the link from this side; `reason` goes into the event. */
  close(name: CloseName, why?: string, reason?: string): void;
  /** Closes a link that missed two heartbeats; `ms` have passed since the last check. */
  checkAlive(ms: number): void;
}

/** The policies for one agent. */
export interface AgentPolicies {
  /** Names exactly these documents. */
  readonly version: string;
  readonly documents: PolicyFrame["policies"];
}

/** Receives what links carry for the commands that run over them. */
export interface CommandListener {
  /** Whether a command runs over this link. */
  isOn(link: Link, commandId: string): boolean;
  /** Whether any command runs over this link. */
  isBusy(link: Link): boolean;
  /** A command was sent under this verdict. */
  sent(commandId: string, verdict: string): void;
  /** A command could not be sent. */
  unsent(commandId: string): void;
  output(agentId: string, frame: OutputFrame): void;
  refused(agentId: string, frame: RefusedFrame): void;
  /** Whether a result matches the verdict that this link carried and the output that came over it. */
  fits(link: Link, result: CommandResult, claimed: OutputDigests): boolean;
  /** A result whose receipt the agent signed. */
  finished(link: Link, agentId: string, result: CommandResult, receipt: Receipt): void;
}

/** What other areas do with the events and frames of links. */
export interface LinkListeners {
  readonly commands: CommandListener;
  /** The agent was welcomed, and `link.agent` is set. */
  opened(link: Link, agentId: string): void;
  closed(link: Link): void;
  transferReply(link: Link, reply: TransferReply): void;
  /** The agent confirmed its policies. */
  policyHeld(tenant: Tenant, agent: AgentRecord, version: string): Promise<void>;
  /** The agent reported its state. */
  stateReported(tenant: Tenant, agent: AgentRecord, state: StateFrame): Promise<void>;
}
