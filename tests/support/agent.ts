import { Buffer } from "node:buffer";
import type { Actor } from "../../core/app.ts";
import { authenticate } from "../../core/authenticate.ts";
import { Link } from "../../core/agents/link.ts";
import {
  type AgentFrame,
  challengeBytes,
  type HelloFrame,
  type RelayFrame,
} from "../../core/protocol.ts";
import type { World } from "./world.ts";

/** How a scripted agent answers a command. */
export type Script = (
  run: Extract<RelayFrame, { type: "run" }>,
) => { stdout?: string; stderr?: string; exit_code?: number } | "silent";

interface Options {
  readonly name?: string;
  readonly identity?: CryptoKeyPair;
  readonly labels?: Record<string, string>;
  /** What is sent in place of the hello that it should send; null for nothing. */
  readonly hello?: (hello: HelloFrame) => unknown;
}

/** The identity that an agent keeps over its links. */
export async function newIdentity(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]) as CryptoKeyPair;
}

/** The far end of a link, without a socket: speaks the real protocol to the real Link. */
export class ScriptedAgent {
  readonly received: RelayFrame[] = [];
  closed: { code: number; reason: string } | null = null;
  script: Script = () => ({ stdout: "done\n" });
  id = "";
  bufferedBytes = 0;
  #link!: Link;
  #welcome = Promise.withResolvers<void>();

  private constructor(
    readonly identity: CryptoKeyPair,
    private readonly options: Options,
  ) {}

  /** Connects with a credential and waits for the welcome, or for being refused. */
  static async connect(
    world: World,
    credential: string,
    options: Options = {},
  ): Promise<ScriptedAgent> {
    const agent = await ScriptedAgent.open(world, credential, options);
    await agent.#welcome.promise;
    return agent;
  }

  /** Connects and waits for nothing. */
  static async open(
    world: World,
    credential: string,
    options: Options = {},
  ): Promise<ScriptedAgent> {
    const agent = new ScriptedAgent(options.identity ?? await newIdentity(), options);
    const actor: Actor = await authenticate(world.app, credential, "live");
    const info = {
      id: "req",
      address: "127.0.0.1",
      idempotencyKey: null,
      lastEventId: null,
      ingestToken: null,
      telegramSecret: null,
      prefetch: false,
    };
    agent.#link = new Link(world.app, actor, info, {
      send: (text) => agent.#take(JSON.parse(text)),
      close: (code, reason) => {
        agent.closed ??= { code, reason };
        agent.#welcome.resolve();
      },
      get bufferedBytes() {
        return agent.bufferedBytes;
      },
    });
    return agent;
  }

  send(frame: AgentFrame): void {
    this.#link.receive(JSON.stringify(frame));
  }

  /** Sends any text at all. */
  sendRaw(text: string): void {
    this.#link.receive(text);
  }

  /** The connection breaks. */
  drop(): void {
    this.#link.closed("connection_lost");
  }

  #take(frame: RelayFrame): void {
    this.received.push(frame);
    if (frame.type === "challenge") this.#hello(frame.nonce);
    if (frame.type === "welcome") {
      this.id = frame.agent_id;
      this.#welcome.resolve();
    }
    if (frame.type === "run") queueMicrotask(() => this.#run(frame));
  }

  async #hello(nonce: string): Promise<void> {
    const { name = "web-1", labels = {}, hello = (own: HelloFrame) => own } = this.options;
    const { publicKey, privateKey } = this.identity;
    const raw = await crypto.subtle.exportKey("raw", publicKey);
    const signature = await crypto.subtle.sign("Ed25519", privateKey, challengeBytes(nonce));
    const sent = hello({
      type: "hello",
      agent: {
        name,
        version: "1.0.0",
        platform: "linux-x86_64",
        hostname: `${name}.example.com`,
        labels,
      },
      public_key: Buffer.from(raw).toString("base64url"),
      signature: Buffer.from(signature).toString("base64url"),
      running: [],
    });
    if (sent !== null) this.sendRaw(JSON.stringify(sent));
  }

  #run(frame: Extract<RelayFrame, { type: "run" }>): void {
    const answer = this.script(frame);
    if (answer === "silent") return;
    this.send({
      type: "result",
      command_id: frame.command_id,
      exit_code: 0,
      signal: null,
      reason: "exited",
      duration_ms: 3,
      truncated: false,
      ...answer,
    });
  }
}
