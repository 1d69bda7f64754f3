import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import type { Tenant } from "../../../kv/store/collection.ts";
import {
  type AgentFrame,
  challengeText,
  claimedDigests,
  CLOSE_CODES,
  type CloseName,
  fitsBytes,
  HELLO_TIMEOUT_MS,
  type HelloFrame,
  MAX_AGENT_FRAME_BYTES,
  MAX_HELLO_BYTES,
  NO_POLICY_VERSION,
  parseAgentFrame,
  publicKeyOf,
  receiptText,
  type RelayFrame,
  type ResultsFrame,
  type RunFrame,
  type StateFrame,
  type TransferKind,
  verifiesText,
  VERSION,
} from "../../protocol/protocol.ts";
import type { Actor, RequestInfo } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import type { Background } from "../../ports/ports.ts";
import type { AgentRecord } from "../../../kv/records/agent.ts";
import { Inspections } from "./inspections.ts";
import type { AgentPolicies, DigestedOrder, Link, LinkListeners, UpgradeOrder } from "./link.ts";
import { openSigner } from "./link_signer.ts";
import { noteRefusal } from "./refusals.ts";
import { disconnectAgent, noteHeartbeat, RefusedAgent, registerAgent } from "./register.ts";
import { AgentReportLimiter } from "./report_limiter.ts";
import { Sender, type Wire } from "./sender.ts";
import { handoversFrom, verdictKeyOf } from "./verdict_keys.ts";
import { Witness } from "./witness.ts";

/** How often an agent sends a heartbeat. */
const HEARTBEAT_SECONDS = 30;
const SILENCE_MS = 2 * HEARTBEAT_SECONDS * 1000;
/** The links of this process, as a connection uses them. */
interface LinkTable {
  readonly mayHold: boolean;
  join(link: Link): void;
  mayOpen(tenant: Tenant, publicKey: string): boolean;
  mayStay(link: Link): Promise<boolean>;
  mayReportRefusal(credentialId: string): boolean;
  add(link: Link, agentId: string): void;
  leave(link: Link, agentId: string | null): void;
}

/** Everything that connections share. */
export interface ConnectionParts {
  readonly context: Context;
  /** The id of this process. */
  readonly instance: string;
  readonly background: Background;
  readonly listeners: LinkListeners;
  readonly links: LinkTable;
}

/** The link of one socket: checks who the agent is, then carries commands to it and results back. */
export class Connection implements Link {
  #agent: AgentRecord | null = null;
  #phase: "challenged" | "registering" | "open" | "closed" = "challenged";
  readonly #nonce: string;
  readonly #cancelHello: () => void;
  /** Time without a frame, summed from checks because the clock may jump. */
  #silentMs = 0;
  readonly #sender: Sender;
  #agentKey: KeyObject | null = null;
  #witness: Witness | null = null;
  readonly #reports = new AgentReportLimiter();
  #recorded: Promise<void> = Promise.resolve();
  readonly #inspections: Inspections;

  constructor(
    private readonly parts: ConnectionParts,
    private readonly actor: Actor,
    private readonly request: Pick<RequestInfo, "id" | "trace">,
    private readonly wire: Wire,
  ) {
    const { clock, entropy } = parts.context.ports;
    this.#nonce = Buffer.from(entropy.bytes(24)).toString("base64url");
    this.#inspections = new Inspections(clock);
    this.#sender = new Sender(
      wire,
      clock,
      parts.listeners.commands,
      () => parts.links.mayHold,
      (why) => this.close(why),
    );
    this.#cancelHello = clock.after(HELLO_TIMEOUT_MS, () => this.close("hello_timeout"));
    parts.links.join(this);
    this.send({ type: "challenge", nonce: this.#nonce });
  }

  get credentialId(): string {
    return this.actor.id;
  }

  get valueHash(): string | null {
    return this.actor.key?.valueHash ?? null;
  }

  get tenant(): Tenant {
    return this.actor.tenant;
  }

  get agent(): AgentRecord | null {
    return this.#phase === "open" ? this.#agent : null;
  }

  run(digested: DigestedOrder): boolean {
    if (this.#phase !== "open") return false;
    this.#sender.run(digested);
    return true;
  }

  sendPolicies(policies: AgentPolicies): void {
    if (this.#phase === "open") this.#sender.sendPolicies(policies);
  }

  holdsPolicies(version: string): void {
    this.#sender.policyVersion = version;
  }

  transfer(jobId: string, kind: TransferKind, sha256: string | null, storedBytes: number): boolean {
    return this.#phase === "open" && this.#sender.transfer(jobId, kind, sha256, storedBytes);
  }

  upgrade(order: UpgradeOrder): boolean {
    return this.#phase === "open" && this.#sender.upgrade(order);
  }

  inspect(): Promise<StateFrame | null> {
    return this.#inspections.ask((frame) => this.#phase === "open" && this.send(frame));
  }

  send(frame: Exclude<RelayFrame, RunFrame>): boolean {
    return this.#phase !== "closed" && this.#sender.send(frame);
  }

  /** Takes one text frame from the socket. */
  receive(text: string): void {
    if (this.#phase === "closed") return;
    this.#silentMs = 0;
    const maxBytes = this.#phase === "open" ? MAX_AGENT_FRAME_BYTES : MAX_HELLO_BYTES;
    if (!fitsBytes(text, maxBytes)) return this.close("frame_too_large");
    const frame = parseAgentFrame(text);
    if (frame === "unknown") return;
    if (frame === null) return this.close("malformed_frame");
    if (this.#phase === "open") return this.#take(frame, this.#agent!);
    if (this.#phase !== "challenged" || frame.type !== "hello") {
      return this.close("unexpected_frame");
    }
    this.#phase = "registering";
    this.parts.background.run("registering an agent", async () => {
      try {
        await this.#register(frame);
      } catch (error) {
        this.close("unavailable");
        throw error;
      }
    });
  }

  close(
    name: CloseName,
    why: string = CLOSE_CODES[name].meaning,
    reason: string = name,
  ): void {
    if (this.#phase === "closed") return;
    this.wire.close(CLOSE_CODES[name].code, why.slice(0, 120));
    this.closed(reason);
  }

  /** The socket was closed by either side; `reason` goes into the event. */
  closed(reason: string): void {
    if (this.#phase === "closed") return;
    const { context, background, links, listeners } = this.parts;
    const agent = this.#agent;
    this.#phase = "closed";
    this.#cancelHello();
    links.leave(this, agent?.id ?? null);
    if (agent === null) return;
    this.#sender.end();
    listeners.closed(this);
    this.#inspections.end();
    background.run(
      "recording the end of a link",
      () => disconnectAgent(context, this.tenant, agent, reason),
    );
  }

  checkAlive(ms: number): void {
    this.#silentMs += ms;
    if (this.#silentMs < SILENCE_MS) return;
    this.close("going_away", "two heartbeats were missed", "heartbeat_lost");
  }

  async #register(hello: HelloFrame): Promise<void> {
    const { context, instance, links, listeners } = this.parts;
    const agentKey = publicKeyOf(hello.public_key);
    const proof = challengeText(this.#nonce);
    if (agentKey === null || !verifiesText(agentKey, proof, hello.signature)) {
      return this.close("identity_refused");
    }
    this.#cancelHello();
    if (!links.mayHold) {
      return this.close("going_away", "this instance of the relay cannot reach its store");
    }
    if (!links.mayOpen(this.tenant, hello.public_key)) {
      return this.close("too_many_frames", "this agent opened too many links within a minute");
    }
    // The hello may come long after the credential was checked, so it is checked again.
    if (!await links.mayStay(this)) return this.close("credential_refused");
    const key = await verdictKeyOf(context, this.tenant);
    const handovers = handoversFrom(key, hello.verdict_key);
    let agent: AgentRecord;
    try {
      const by = { actor: this.actor, request: this.request, instance, links };
      agent = await registerAgent(context, by, hello, key.publicKey);
    } catch (error) {
      if (error instanceof RefusedAgent) return this.close(error.closeName, error.message);
      throw error;
    }
    this.#agent = agent;
    if (this.#isClosed()) {
      return await disconnectAgent(context, this.tenant, agent, "connection_lost");
    }
    this.#agentKey = agentKey;
    const signer = openSigner(key, { agentId: agent.id, nonce: hello.nonce });
    this.#sender.open(signer);
    this.#phase = "open";
    links.add(this, agent.id);
    this.send({
      type: "welcome",
      agent_id: agent.id,
      name: agent.name,
      heartbeat_seconds: HEARTBEAT_SECONDS,
      relay_version: VERSION,
      ...signer.welcome(context.ports.clock.now()),
      ...(handovers !== undefined && { handovers }),
    });
    this.holdsPolicies(hello.policy_version ?? NO_POLICY_VERSION);
    this.#witness = new Witness(
      context,
      this.tenant,
      hello.witnessed ?? 0,
      (frame) => this.#phase === "open" && this.send(frame),
    );
    listeners.opened(this, agent.id);
    this.witness();
  }

  /** Accepts all results of a message or rejects all: one signature covers them. */
  #takeResults({ results, signature }: ResultsFrame, agent: AgentRecord): void {
    const { context: { ports }, listeners: { commands } } = this.parts;
    const late = results.filter(({ command_id }) => !commands.isOn(this, command_id)).length;
    if (!this.#reports.takeLate(late, ports.clock.now())) return this.close("too_many_frames");
    const digests = results.map(claimedDigests);
    const text = receiptText(agent.id, results, digests);
    const wrong = !verifiesText(this.#agentKey!, text, signature)
      ? "the signature is not this agent's"
      : results.every((result, at) => commands.fits(this, result, digests[at]!))
      ? null
      : "a result belongs to another verdict, or its digests do not match the output";
    if (wrong !== null) {
      return this.refuseReceipt(results.map(({ command_id }) => command_id), wrong);
    }
    results.forEach((result, at) =>
      commands.finished(this, agent.id, result, {
        ...digests[at]!,
        signature,
        verdict: result.verdict,
      })
    );
  }

  refuseReceipt(commandIds: readonly string[], why: string): void {
    if (this.#phase !== "open") return;
    const { context, background } = this.parts;
    const agent = this.#agent!;
    const details = { command_ids: commandIds, reason: why };
    background.run(
      "recording a refused receipt",
      () => noteRefusal(context, this.tenant, agent, "receipt_refused", details),
    );
    this.close("receipt_refused");
  }

  witness(): void {
    const witness = this.#witness;
    if (witness === null) return;
    this.parts.background.run("sending a checkpoint", () => witness.sendNewest());
  }

  /** Records the agent's reports one after the other, in the order in which they came. */
  #record(change: () => Promise<void>): void {
    const recorded = this.#recorded.then(change);
    this.#recorded = recorded.catch(() => {});
    this.parts.background.run("recording an agent's report", () => recorded);
  }

  #isClosed(): boolean {
    return this.#phase === "closed";
  }

  #take(frame: AgentFrame, agent: AgentRecord): void {
    const { context: { ports }, background, listeners } = this.parts;
    const asked = {
      inspected: this.#inspections.serial,
      policyVersion: this.#sender.policyVersion,
    };
    if (!this.#reports.take(frame, asked, ports.clock.now())) return this.close("too_many_frames");
    switch (frame.type) {
      case "results":
        return this.#takeResults(frame, agent);
      case "output":
        return listeners.commands.output(agent.id, frame);
      case "started":
        return;
      case "refused":
        return listeners.commands.refused(agent.id, frame);
      case "policy_held":
        return this.#record(() => listeners.policyHeld(this.tenant, agent, frame.policy_version));
      case "heartbeat":
        return this.#takeHeartbeat(frame.status, agent);
      case "checkpoint_kept":
        background.run("recording a witness", () => this.#witness!.kept(agent, frame));
        return;
      case "checkpoint_refused":
        background.run(
          "recording a refused checkpoint",
          () => this.#witness!.refused(agent, frame),
        );
        return;
      case "hello":
        return this.close("unexpected_frame");
      case "state":
        return this.#record(async () => {
          await listeners.stateReported(this.tenant, agent, frame);
          this.#inspections.answered(frame);
        });
      default:
        return listeners.transferReply(this, frame);
    }
  }

  #takeHeartbeat(status: "ok" | "degraded" | "error", agent: AgentRecord): void {
    const { context, background } = this.parts;
    this.send(this.#inspections.next());
    this.send({ type: "heartbeat_ack" });
    background.run("recording a heartbeat", async () => {
      const end = await noteHeartbeat(context, this.tenant, agent, status);
      if (end !== null) this.close(end);
    });
  }
}
