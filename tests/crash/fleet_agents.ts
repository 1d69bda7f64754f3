import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import { dial } from "../../core/cli/agent/link/dial.ts";
import type { AgentSocket } from "../../core/cli/agent/interfaces.ts";
import type { CommandOrder, RunFrame } from "../../core/protocol/protocol.ts";
import {
  challengeText,
  rawPublicKey,
  receiptText,
  signText,
} from "../../core/protocol/statements.ts";
import { newIdentity } from "../support/agent.ts";

/** What answers one command; not called for a command that runs on. */
type Answer = () => void;

/** Agents of one process, over real sockets. They run nothing, and count what they are told to run. */
export class FleetAgents {
  readonly #agents: FleetAgent[];
  /** How often each agent was told to run each command. */
  readonly runs = new Map<string, number>();

  /** `take` decides when a command is answered. */
  constructor(
    private readonly url: string,
    private readonly token: string,
    count: number,
    take: (order: CommandOrder, answer: Answer) => void,
  ) {
    const taken = (agent: number, order: CommandOrder, answer: Answer) => {
      const run = `${agent} ${order.command}`;
      this.runs.set(run, (this.runs.get(run) ?? 0) + 1);
      take(order, answer);
    };
    this.#agents = Array.from(
      { length: count },
      (_, n) => new FleetAgent(`web-${n}`, (order, answer) => taken(n, order, answer)),
    );
  }

  /** Resolves when all are linked. */
  async connect(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.connect(this.url, this.token)));
  }

  close(): void {
    for (const agent of this.#agents) agent.close();
  }
}

/** One agent, which keeps its identity over its links. */
class FleetAgent {
  readonly #key: KeyObject = newIdentity();
  #socket: AgentSocket | null = null;

  constructor(
    private readonly name: string,
    private readonly take: (order: CommandOrder, answer: Answer) => void,
  ) {}

  async connect(url: string, token: string): Promise<void> {
    const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(18))).toString("base64url");
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const closed = ({ code, reason }: { code: number; reason: string }) =>
      reject(new Error(`${this.name} closed: ${code} ${reason}`));
    let agentId = "";
    const send = (frame: unknown) => this.#socket!.send(JSON.stringify(frame));
    const message = (data: string | null) => {
      const frame = JSON.parse(data!);
      if (frame.type === "challenge") send(this.#hello(nonce, frame.nonce));
      else if (frame.type === "welcome") {
        agentId = frame.agent_id;
        resolve();
      } else if (frame.type === "run") {
        for (const order of (frame as RunFrame).commands) {
          this.take(order, () => {
            const results = [resultOf(order, `${nonce}.${frame.batch}`, this.name)];
            const signature = signText(this.#key, receiptText(agentId, results));
            send({ type: "results", results, signature });
          });
        }
      }
    };
    this.#socket = dial(url, token, { closed, message });
    await promise;
  }

  close(): void {
    this.#socket?.close(1000, "done");
  }

  #hello(nonce: string, challenge: string) {
    const { name } = this;
    return {
      type: "hello",
      agent: {
        name,
        version: "1",
        platform: "linux-x86_64",
        hostname: name,
        labels: { env: "test" },
      },
      public_key: rawPublicKey(this.#key),
      signature: signText(this.#key, challengeText(challenge)),
      running: [],
      nonce,
    };
  }
}

const resultOf = ({ command_id }: CommandOrder, verdict: string, name: string) => ({
  command_id,
  verdict,
  exit_code: name === "web-7" ? 1 : 0,
  signal: null,
  reason: "exited" as const,
  stdout: " 10:00:00 up 3 days,  load average: 0.00, 0.01, 0.05\n",
  duration_ms: 1,
  truncated: false,
});
