import { hash, type KeyObject } from "node:crypto";
import type { AgentPrograms } from "../../core/ports/ports.ts";
import { VERSION } from "../../core/protocol/protocol.ts";
import type { ProgramFacts, UpgradeFrame } from "../../core/protocol/upgrades.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import type { Account, World } from "../support/world.ts";

const PROGRAM = new TextEncoder().encode("a program\n".repeat(20_000));
export const SHA256 = hash("sha256", PROGRAM);
/** A relay with a bundle, and no executable. */
export const PROGRAMS: AgentPrograms = {
  find: (_, platform) =>
    Promise.resolve(
      platform !== "any" ? null : {
        sha256: SHA256,
        bytes: PROGRAM.length,
        read: (offset, length) => Promise.resolve(PROGRAM.subarray(offset, offset + length)),
      },
    ),
};

/** An agent with an upgradable program, which takes what it is sent and then waits for the test. */
interface Upgradable {
  readonly name: string;
  readonly identity: KeyObject;
  link: ScriptedAgent;
  /** The orders that it got, oldest first. */
  readonly orders: UpgradeFrame[];
  received: Uint8Array[];
  /** Comes back with this version, and with what it tells about its program. */
  back(version: string, program: Partial<ProgramFacts> | null): Promise<void>;
}

/** Agents of one organization, each ready for an upgrade. */
export class Fleet {
  readonly agents: Upgradable[] = [];

  private constructor(
    readonly world: World,
    readonly owner: Account,
    private readonly key: string,
  ) {}

  static async open(world: World, size: number): Promise<Fleet> {
    const owner = await world.signUp();
    const { value } = await world.key(owner, ["agents:admin"]);
    const fleet = new Fleet(world, owner, value);
    for (let n = 1; n <= size; n++) await fleet.add(`web-${n}`);
    return fleet;
  }

  async add(name: string, version = "0.0.1", program: ProgramFacts | null = { form: "bundle" }) {
    const connect = (identity: KeyObject, version: string, program: ProgramFacts | null) =>
      ScriptedAgent.connect(this.world, this.key, {
        name,
        identity,
        hello: (own) => ({
          ...own,
          agent: { ...own.agent, version },
          ...(program !== null && { program }),
        }),
        take: (frame, link) => {
          const tell = (text: object) => queueMicrotask(() => link.sendRaw(JSON.stringify(text)));
          if (frame.type === "upgrade") {
            agent.orders.push(frame);
            agent.received = [];
            tell({ type: "transfer_want", job_id: frame.job_id, offset: 0 });
          }
          if (frame.type !== "transfer_data") return;
          agent.received.push(Uint8Array.fromBase64(frame.data));
          const { job_id, bytes } = agent.orders.at(-1)!;
          const offset = agent.received.reduce((sum, { length }) => sum + length, 0);
          if (offset < bytes) tell({ type: "transfer_want", job_id, offset });
          else tell({ type: "upgrade_ready", job_id });
        },
      });
    const identity = newIdentity();
    const agent: Upgradable = {
      name,
      identity,
      orders: [],
      received: [],
      link: undefined as unknown as ScriptedAgent,
      back: async (version, program) => {
        agent.link.drop();
        const told = program && { form: "bundle" as const, ...program };
        agent.link = await connect(identity, version, told);
        await this.world.settle();
      },
    };
    agent.link = await connect(identity, version, program);
    this.agents.push(agent);
  }

  /** The agents that were asked and have not come back. */
  asked(): string[] {
    return this.agents.filter(({ orders, link }) =>
      orders.length > 0 && link.received.includes(orders.at(-1)!)
    ).map(({ name }) => name);
  }

  agent(name: string): Upgradable {
    return this.agents.find((agent) => agent.name === name)!;
  }

  async succeed(...names: string[]): Promise<void> {
    for (const name of names) {
      const agent = this.agent(name);
      await agent.back(VERSION, { upgrade: agent.orders.at(-1)!.job_id });
    }
  }

  async fail(name: string): Promise<void> {
    const { orders, back } = this.agent(name);
    const failed = { job_id: orders.at(-1)!.job_id, message: "it ended with exit code 3" };
    await back("0.0.1", { failed });
  }

  async start(body: object) {
    const path = "/api/v1/agent-upgrades";
    const answer = await this.world.call("POST", path, { as: this.owner.token, body });
    await this.world.settle();
    return answer;
  }

  async show(id: string) {
    const path = `/api/v1/agent-upgrades/${id}`;
    return (await this.world.call("GET", path, { as: this.owner.token })).body;
  }
}
