import { type AgentRecord, agents } from "../../kv/records/agent.ts";
import { type CommandRecord, commands } from "../../kv/records/command.ts";
import type { Cluster, Instance } from "./cluster.ts";
import type { Change } from "./memory_kv.ts";

type Status = CommandRecord["status"];

/** The states that each state may be followed by; no other one is left again. */
const NEXT: Partial<Record<Status, readonly Status[]>> = {
  pending_approval: ["queued", "rejected", "expired", "cancelled", "failed"],
  queued: ["running", "expired", "cancelled", "failed"],
  running: ["succeeded", "failed", "cancelled", "timed_out", "lost"],
  lost: ["succeeded", "failed", "cancelled", "timed_out"],
};

/** What a history does at the instant of a commit. */
export interface Witnessed {
  /** An instance has recorded a command as running and is about to send it. */
  begun(by: Instance, record: CommandRecord): void;
  /** A command waits for the instance that holds its agent's link. */
  queued(record: CommandRecord): void;
  /** An agent has a newer link than the one at `former`. */
  relinked(former: Instance, agentId: string): void;
}

/** Sees every commit at the instant of its effect, and what broke a promise. */
export class Witness {
  readonly broken: string[] = [];
  readonly #commands = new Map<string, CommandRecord>();

  constructor(private readonly cluster: Cluster, private readonly on: Witnessed) {
    cluster.engine.onCommit = (by, changes) => {
      for (const change of changes) {
        this.#see(cluster.instances.find((i) => i.name === by)!, change);
      }
    };
  }

  /** A command arrives at an agent: it must be recorded as running at this instant. */
  arrives(id: string, at: Instance): void {
    const status = this.#commands.get(id)?.status;
    if (status !== "running") this.broken.push(`${at.name} sent ${id}, which is ${status}`);
  }

  #see(by: Instance, { key, before, after }: Change): void {
    if (key[2] === commands.name) {
      this.#command(by, key, (before ?? null) as CommandRecord | null, after as CommandRecord);
    }
    if (key[2] === agents.name) {
      this.#agent((before ?? null) as AgentRecord | null, after as AgentRecord);
    }
  }

  #command(
    by: Instance,
    [org, space]: Deno.KvKey,
    before: CommandRecord | null,
    record: CommandRecord,
  ): void {
    const { id, status, agent_id } = record;
    this.#commands.set(id, record);
    if (before?.status === status) return;
    if (before !== null && !NEXT[before.status]?.includes(status)) {
      this.broken.push(`${by.name} changed ${id} from ${before.status} to ${status}`);
    }
    if (status === "queued") this.on.queued(record);
    if (status !== "running") return;
    const agent = this.cluster.engine.get([org!, space!, agents.name, agent_id])
      .value as AgentRecord;
    if (agent.instance !== by.world.app.instance) {
      this.broken.push(`${by.name} began ${id}, although the agent's newest link is elsewhere`);
    }
    this.on.begun(by, record);
  }

  #agent(before: AgentRecord | null, { id, instance }: AgentRecord): void {
    if (!before?.instance || !instance || before.instance === instance) return;
    const former = this.cluster.awake.find(({ world }) => world.app.instance === before.instance);
    if (former !== undefined) this.on.relinked(former, id);
  }
}
