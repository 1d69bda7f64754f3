import { Buffer } from "node:buffer";
import { createHash, type Hash, type KeyObject } from "node:crypto";
import { openVerdicts, type Verdicts } from "../../core/cli/agent/link/verdicts.ts";
import type { Actor } from "../../core/identity/identity.ts";
import { authenticateSocket } from "../../core/agents/devices/holder.ts";
import type { Connection } from "../../core/agents/links/connection.ts";
import {
  type AgentFrame,
  type CommandOrder,
  type CommandResult,
  type HelloFrame,
  parseRelayFrame,
  type RelayFrame,
  type RunFrame,
} from "../../core/protocol/protocol.ts";
import {
  challengeText,
  privateKeyOf,
  rawPublicKey,
  receiptText,
  signText,
} from "../../core/protocol/statements.ts";
import type { World } from "./world.ts";

/** How a scripted agent answers a command. */
export type Script = (
  order: CommandOrder,
) => { stdout?: string; stderr?: string; exit_code?: number } | "silent";

interface Options {
  readonly name?: string;
  readonly identity?: KeyObject;
  readonly labels?: Record<string, string>;
  /** Replaces the hello; null sends none. */
  readonly hello?: (hello: HelloFrame) => unknown;
  /** False for an agent that never confirms its policies. */
  readonly confirms?: boolean;
  /** Takes the frames that the script does not handle. */
  readonly take?: (frame: RelayFrame, agent: ScriptedAgent) => void;
  /** Changes the relay's messages in transit. */
  readonly wire?: (text: string) => string;
}

/** The verdicts of an agent's commands, kept over its links. */
const verdictsOf = new WeakMap<KeyObject, Map<string, string>>();

/** The identity that an agent keeps over its links. */
export const newIdentity = (): KeyObject =>
  privateKeyOf(crypto.getRandomValues(new Uint8Array(32)));

/** An agent without a socket: speaks the protocol to the relay's own connection. */
export class ScriptedAgent {
  readonly received: RelayFrame[] = [];
  /** The reasons of refused commands. */
  readonly refusals: string[] = [];
  closed: { code: number; reason: string } | null = null;
  script: Script = () => ({ stdout: "done\n" });
  id = "";
  bufferedBytes = 0;
  /** Signs receipts; a test may replace it by a forger. */
  sign = (text: string): string => signText(this.identity, text);
  readonly nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(18))).toString("base64url");
  readonly #clock: World["clock"];
  readonly #verdictOf: Map<string, string>;
  readonly #digests = new Map<string, Hash>();
  #verdicts: Verdicts | null = null;
  #link!: Connection;
  #welcome = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  readonly #waiters: (() => void)[] = [];

  private constructor(
    readonly identity: KeyObject,
    private readonly options: Options,
    clock: World["clock"],
  ) {
    this.#clock = clock;
    this.#verdictOf = verdictsOf.get(identity) ?? new Map();
    verdictsOf.set(identity, this.#verdictOf);
  }

  /** Connects with a credential and waits for the welcome or the refusal. */
  static async connect(
    world: World,
    credential: string,
    options: Options = {},
  ): Promise<ScriptedAgent> {
    await world.renewPresence();
    const agent = await ScriptedAgent.open(world, credential, options);
    await agent.#welcome.promise;
    return agent;
  }

  /** Connects without waiting. */
  static async open(
    world: World,
    credential: string,
    options: Options = {},
  ): Promise<ScriptedAgent> {
    const agent = new ScriptedAgent(options.identity ?? newIdentity(), options, world.clock);
    const actor: Actor = await authenticateSocket(world.app, credential, "live");
    const info = { id: "req", trace: null };
    agent.#link = world.app.links.open(actor, info, {
      send: (text) => agent.#take(options.wire?.(text) ?? text),
      close: (code, reason) => {
        agent.closed ??= { code, reason };
        agent.#gone.resolve();
        agent.#welcome.resolve();
      },
      get bufferedBytes() {
        return agent.bufferedBytes;
      },
    });
    return agent;
  }

  send(frame: AgentFrame): void {
    if (frame.type === "output") {
      const name = `${frame.command_id} ${frame.stream}`;
      const digest = this.#digests.get(name) ?? createHash("sha256");
      this.#digests.set(name, digest.update(frame.data));
    }
    this.#link.receive(JSON.stringify(frame));
  }

  /** Ends commands in one message under one receipt, as an agent does. */
  finish(...ends: (Partial<CommandResult> & { command_id: string })[]): void {
    const results = ends.map((end): CommandResult => ({
      verdict: this.#verdictOf.get(end.command_id) ?? `${this.nonce}.1`,
      exit_code: 0,
      signal: null,
      reason: "exited",
      duration_ms: 3,
      truncated: false,
      ...this.#digestOf(end, "stdout"),
      ...this.#digestOf(end, "stderr"),
      ...end,
    }));
    const signature = this.sign(receiptText(this.id, results));
    this.send({ type: "results", results, signature });
  }

  /** The digest of a stream that began in `output` frames. */
  #digestOf(end: Partial<CommandResult>, stream: "stdout" | "stderr") {
    const digest = this.#digests.get(`${end.command_id} ${stream}`)?.copy();
    return digest && { [`${stream}_sha256`]: digest.update(end[stream] ?? "").digest("hex") };
  }

  /** Sends any text. */
  sendRaw(text: string): void {
    this.#link.receive(text);
  }

  /** The first frame that the test wants, received already or next. */
  async until<T extends RelayFrame["type"]>(type: T): Promise<Extract<RelayFrame, { type: T }>> {
    for (;;) {
      const found = this.received.find((frame) => frame.type === type);
      if (found !== undefined) return found as Extract<RelayFrame, { type: T }>;
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  /** Resolves when the relay has closed the link. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** Breaks the connection. */
  drop(): void {
    this.#link.closed("connection_lost");
  }

  #take(text: string): void {
    const frame = parseRelayFrame(text);
    if (frame === null) return this.#link.closed("malformed_frame");
    if (frame === "unknown") return;
    this.received.push(frame);
    for (const resolve of this.#waiters.splice(0)) resolve();
    if (frame.type === "challenge") this.#hello(frame.nonce);
    if (frame.type === "welcome") {
      this.id = frame.agent_id;
      this.#verdicts = openVerdicts(frame, this.nonce, this.#clock);
      this.#welcome.resolve();
    }
    if (frame.type === "policy" && this.options.confirms !== false) {
      const { policy_version } = frame;
      queueMicrotask(() => this.sendRaw(JSON.stringify({ type: "policy_held", policy_version })));
    }
    if (frame.type === "run") queueMicrotask(() => this.#order(frame));
    this.options.take?.(frame, this);
  }

  #hello(challenge: string): void {
    const { name = "web-1", labels = {}, hello = (own: HelloFrame) => own } = this.options;
    const sent = hello({
      type: "hello",
      agent: {
        name,
        version: "1.0.0",
        platform: "linux-x86_64",
        hostname: `${name}.example.com`,
        labels,
      },
      public_key: rawPublicKey(this.identity),
      signature: signText(this.identity, challengeText(challenge)),
      running: [],
      nonce: this.nonce,
    });
    if (sent !== null) queueMicrotask(() => this.sendRaw(JSON.stringify(sent)));
  }

  #order(frame: RunFrame): void {
    const why = this.#verdicts === null ? "no welcome" : this.#verdicts.refuse(frame);
    if (why !== null) return this.#refuse(frame, why);
    for (const order of frame.commands) {
      this.#verdictOf.set(order.command_id, `${this.nonce}.${frame.batch}`);
      const answer = this.script(order);
      if (answer !== "silent") this.finish({ command_id: order.command_id, ...answer });
    }
  }

  #refuse({ commands }: RunFrame, message: string): void {
    this.refusals.push(message);
    for (const { command_id } of commands) {
      this.send({ type: "refused", command_id, reason: "unverified", message });
    }
    this.#link.closed("verdict_refused");
  }
}
