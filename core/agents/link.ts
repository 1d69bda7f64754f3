import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import type { Tenant } from "../../kv/store/collection.ts";
import type { Actor, App, RequestInfo } from "../work/work.ts";
import { VERSION } from "../work/work.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import { type Batch, jsonBytesMax, openBatch } from "../protocol/batch.ts";
import { CLOSE_CODES, type CloseName } from "../protocol/close_codes.ts";
import {
  type AgentFrame,
  type CheckpointFrame,
  fitsBytes,
  HELLO_TIMEOUT_MS,
  type HelloFrame,
  MAX_AGENT_FRAME_BYTES,
  MAX_HELLO_BYTES,
  MAX_RELAY_FRAME_BYTES,
  parseAgentFrame,
  type RelayFrame,
  type ResultsFrame,
  type RunFrame,
} from "../protocol/protocol.ts";
import {
  challengeText,
  claimedDigests,
  publicKeyOf,
  receiptText,
  verifiesText,
} from "../protocol/statements.ts";
import { noteState } from "../policies/agents/drift.ts";
import { type AgentPolicies, NO_POLICY_VERSION } from "../policies/policy_cache.ts";
import { notePolicyHeld, pushPolicies } from "../policies/agents/distribution.ts";
import type { StateFrame, TransferKind } from "../protocol/transfers.ts";
import { startQueued } from "../commands/queued.ts";
import { Witness } from "./witness.ts";
import { Inspections } from "./inspections.ts";
import { noteRefusal } from "./refusals.ts";
import { disconnectAgent, noteHeartbeat, RefusedAgent, registerAgent } from "./register.ts";
import { Tellings } from "./tellings.ts";
import {
  type DigestedOrder,
  handoversFrom,
  type LinkSigner,
  openSigner,
  verdictKeyOf,
} from "./verdicts.ts";

/** How often an agent says that it lives. */
const HEARTBEAT_SECONDS = 30;
const SILENCE_MS = 2 * HEARTBEAT_SECONDS * 1000;
/** An agent that reads this slowly would make the relay's memory grow. */
const BUFFERED_BYTES_MAX = 4 * 1024 * 1024;

/** The socket, as a link needs it. */
export interface Wire {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** Bytes that the other side has not taken yet. */
  readonly bufferedBytes: number;
}

/** One agent's connection: proves who it is, then carries commands there and results back. */
export class Link {
  #agent: AgentRecord | null = null;
  #phase: "challenged" | "registering" | "open" | "closed" = "challenged";
  readonly #nonce: string;
  readonly #cancelHello: () => void;
  /** How long it has been silent: counted, because a clock may be set. */
  #silentMs = 0;
  #signer: LinkSigner | null = null;
  /** The policies that the agent was told last, or says that it holds. */
  #policyVersion = NO_POLICY_VERSION;
  #agentKey: KeyObject | null = null;
  #witness: Witness | null = null;
  readonly #tellings = new Tellings();
  #noted: Promise<void> = Promise.resolve();
  readonly #inspections: Inspections;
  readonly #orders: Batch<DigestedOrder> = openBatch(
    MAX_RELAY_FRAME_BYTES,
    (orders) => this.#sendOrders(orders),
  );

  constructor(
    private readonly app: App,
    private readonly actor: Actor,
    private readonly request: Pick<RequestInfo, "id">,
    private readonly wire: Wire,
  ) {
    const { clock, entropy } = app.ports;
    this.#nonce = Buffer.from(entropy.bytes(24)).toString("base64url");
    this.#inspections = new Inspections(clock);
    this.#cancelHello = clock.after(HELLO_TIMEOUT_MS, () => this.close("hello_timeout"));
    app.links.join(this);
    this.send({ type: "challenge", nonce: this.#nonce });
  }

  get credentialId(): string {
    return this.actor.id;
  }

  /** SHA-256 of the key's value that opened it, hex: a key that is rotated has two; null for a device. */
  get valueHash(): string | null {
    return this.actor.key?.valueHash ?? null;
  }

  get tenant(): Tenant {
    return this.actor.tenant;
  }

  /**
   * Has a command sent, in one message with the others of this turn of the event loop; false when the
   * link is closed. `commands.sent` or `commands.unsent` tells what became of it.
   */
  run(digested: DigestedOrder): boolean {
    if (this.#phase !== "open") return false;
    this.#orders.add(digested, jsonBytesMax(digested.order.command) + ORDER_BYTES);
    return true;
  }

  /** Whose link it is; null before that is known. */
  get agent(): AgentRecord | null {
    return this.#phase === "open" ? this.#agent : null;
  }

  /** Tells the agent the policies that concern it, unless it knows them. */
  tellPolicies({ version, documents }: AgentPolicies): void {
    if (this.#phase !== "open" || version === this.#policyVersion) return;
    this.#policyVersion = version;
    this.send(this.#signer!.policies(documents));
  }

  /** The agent holds these policies, whatever it was told. */
  holdsPolicies(version: string): void {
    this.#policyVersion = version;
  }

  /** Orders a backup, a restore or its rehearsal; false when the link is closed. */
  transfer(job_id: string, kind: TransferKind, sha256: string | null, stored_bytes: number) {
    if (this.#phase !== "open") return false;
    return this.send(this.#signer!.transfer({ job_id, kind, sha256, stored_bytes }));
  }

  /** What the agent holds, once that is on record; null when it does not answer, or the link ends. */
  inspect(): Promise<StateFrame | null> {
    return this.#inspections.ask((frame) => this.#phase === "open" && this.send(frame));
  }

  /** Sends a frame behind the commands; false when the link is closed or the agent does not keep up. */
  send(frame: Exclude<RelayFrame, RunFrame>): boolean {
    this.#orders.flush();
    if (this.#phase === "closed") return false;
    if (!this.#keepsUp()) {
      this.close("too_slow");
      return false;
    }
    this.wire.send(JSON.stringify(frame));
    return true;
  }

  #sendOrders(orders: readonly DigestedOrder[]): void {
    const { commands, ports } = this.app;
    if (!this.#keepsUp()) {
      for (const { order } of orders) commands.unsent(order.command_id);
      return this.close("too_slow");
    }
    const { frame, verdict } = this.#signer!.run(orders, ports.clock.now());
    for (const { order } of orders) commands.sent(order.command_id, verdict);
    this.wire.send(JSON.stringify(frame));
  }

  #keepsUp(): boolean {
    return this.wire.bufferedBytes <= BUFFERED_BYTES_MAX;
  }

  /** Takes one text frame. */
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
    this.app.links.recording(
      this.#register(frame).catch((error) => {
        this.app.ports.log.error("an agent could not be registered", { error: String(error) });
        this.close("unavailable");
      }),
    );
  }

  /** Closes the link from this side; `reason` goes into the event. */
  close(
    name: CloseName,
    why: string = CLOSE_CODES[name].meaning,
    reason: string = name,
  ): void {
    if (this.#phase === "closed") return;
    this.wire.close(CLOSE_CODES[name].code, why.slice(0, 120));
    this.closed(reason);
  }

  /** The link has ended, from whichever side; `reason` goes into the event. */
  closed(reason: string): void {
    if (this.#phase === "closed") return;
    const agent = this.#agent;
    this.#phase = "closed";
    this.#cancelHello();
    this.app.links.leave(this, agent?.id ?? null);
    if (agent === null) return;
    for (const { order } of this.#orders.drain()) this.app.commands.unsent(order.command_id);
    this.app.commands.linkLost(this);
    this.app.transfers.linkLost(this);
    this.#inspections.end();
    this.app.links.recording(
      disconnectAgent(this.app, this.actor.tenant, agent, reason).catch((error) => {
        this.app.ports.log.error("an agent's end could not be recorded", { error: String(error) });
      }),
    );
  }

  /** Closes a link that has been silent for two heartbeats; `ms` have gone by since the last look. */
  checkAlive(ms: number): void {
    this.#silentMs += ms;
    if (this.#silentMs < SILENCE_MS) return;
    this.close("going_away", "two heartbeats were missed", "heartbeat_lost");
  }

  async #register(hello: HelloFrame): Promise<void> {
    const agentKey = publicKeyOf(hello.public_key);
    const proof = challengeText(this.#nonce);
    if (agentKey === null || !verifiesText(agentKey, proof, hello.signature)) {
      return this.close("identity_refused");
    }
    this.#cancelHello();
    if (!this.app.links.mayOpen(this.tenant, hello.public_key)) {
      return this.close("too_many_frames", "this agent opened too many links in a minute");
    }
    // Whoever holds the hello back gets no more from it than the rights of when it was there.
    if (!await this.app.links.mayStay(this)) return this.close("credential_refused");
    const key = await verdictKeyOf(this.app, this.actor.tenant);
    const handovers = handoversFrom(key, hello.verdict_key);
    let agent: AgentRecord;
    try {
      agent = await registerAgent(this.app, this.actor, this.request, hello, key.publicKey);
    } catch (error) {
      if (error instanceof RefusedAgent) return this.close(error.closeName, error.message);
      throw error;
    }
    this.#agent = agent;
    if (this.#isClosed()) {
      await disconnectAgent(this.app, this.actor.tenant, agent, "connection_lost");
      return;
    }
    this.#agentKey = agentKey;
    const signer = openSigner(key, { agentId: agent.id, nonce: hello.nonce });
    this.#signer = signer;
    this.#phase = "open";
    this.app.links.add(this, agent.id);
    this.send({
      type: "welcome",
      agent_id: agent.id,
      name: agent.name,
      heartbeat_seconds: HEARTBEAT_SECONDS,
      relay_version: VERSION,
      ...signer.welcome(this.app.ports.clock.now()),
      ...(handovers !== undefined && { handovers }),
    });
    this.#policyVersion = hello.policy_version ?? NO_POLICY_VERSION;
    pushPolicies(this.app, [this]);
    const give = (frame: CheckpointFrame) => this.#phase === "open" && this.send(frame);
    this.#witness = new Witness(this.app, this.tenant, hello.witnessed ?? 0, give);
    this.witness();
    startQueued(this.app, this.actor.tenant, agent.id);
    this.app.transfers.begin(this.actor.tenant, agent.id);
  }

  /** Nothing of a message is recorded unless the agent has signed for all of it. */
  #takeResults({ results, signature }: ResultsFrame, agent: AgentRecord): void {
    const { commands, ports } = this.app;
    const late = results.filter(({ command_id }) => !commands.isOn(this, command_id)).length;
    if (!this.#tellings.takeLate(late, ports.clock.now())) return this.close("too_many_frames");
    const digests = results.map(claimedDigests);
    const text = receiptText(agent.id, results, digests);
    const wrong = !verifiesText(this.#agentKey!, text, signature)
      ? "the signature is not this agent's"
      : results.every((result, at) => commands.fits(this, result, digests[at]!))
      ? null
      : "it is of another verdict, or not of the output that came";
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

  /** Tells that results were not taken, and why, and closes the link. */
  refuseReceipt(commandIds: readonly string[], why: string): void {
    if (this.#phase !== "open") return;
    const { id, name } = this.#agent!;
    const details = { command_ids: commandIds, name, reason: why };
    this.app.links.recording(noteRefusal(this.app, this.tenant, id, "receipt_refused", details));
    this.close("receipt_refused");
  }

  /** Gives the agent the newest checkpoint, which it keeps as a witness. */
  witness(): void {
    if (this.#witness !== null) this.app.links.recording(this.#witness.give());
  }

  /** Records what the agent holds, in the order in which it tells it; `change` never fails. */
  #note(change: () => Promise<void>): void {
    this.#noted = this.#noted.then(change);
    this.app.links.recording(this.#noted);
  }

  #isClosed(): boolean {
    return this.#phase === "closed";
  }

  #take(frame: AgentFrame, agent: AgentRecord): void {
    const { commands, ports } = this.app;
    const { tenant } = this.actor;
    const asked = { inspected: this.#inspections.serial, policyVersion: this.#policyVersion };
    if (!this.#tellings.take(frame, asked, ports.clock.now())) return this.close("too_many_frames");
    switch (frame.type) {
      case "results":
        return this.#takeResults(frame, agent);
      case "output":
        return commands.output(agent.id, frame);
      case "started":
        return;
      case "refused":
        return commands.refused(agent.id, frame);
      case "policy_held":
        return this.#note(() => notePolicyHeld(this.app, tenant, agent, frame.policy_version));
      case "heartbeat":
        this.send(this.#inspections.next());
        this.send({ type: "heartbeat_ack" });
        noteHeartbeat(this.app, tenant, agent, frame.status).then(
          (end) => end === null || this.close(end),
          (error) => ports.log.warn("a heartbeat could not be recorded", { error: String(error) }),
        );
        return;
      case "checkpoint_refused":
        return this.app.links.recording(this.#witness!.refused(agent, frame));
      case "hello":
        return this.close("unexpected_frame");
      case "state":
        return this.#note(async () => {
          await noteState(this.app, tenant, agent, frame);
          this.#inspections.answered(frame);
        });
      default:
        return this.app.transfers.take(this, frame);
    }
  }
}

/** What a command takes in its frame besides its text. */
const ORDER_BYTES = 256;
