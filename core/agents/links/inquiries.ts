import type { AgentRecord } from "../../../kv/records/agent.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Context } from "../../context/context.ts";
import { type Message, sendMessage } from "../../work/work.ts";
import type { Links } from "./links.ts";

/** How long another instance may take to answer: longer than an agent may. */
const ANSWER_MS = 6_000;

interface InquiryParts {
  readonly context: Pick<Context, "ports" | "store">;
  /** The id of this process. */
  readonly instance: string;
  readonly links: Pick<Links, "holder" | "of">;
}

/** Asks agents for their states, at whichever instances their links are. Only the callers that wait are in memory. */
export class Inquiries {
  readonly #waiting = new Map<string, (reached: boolean) => void>();

  constructor(private readonly parts: InquiryParts) {}

  /** Asks an agent for its state. True once it is on record; false when the agent does not answer in time. */
  async ask(tenant: Tenant, agent: AgentRecord): Promise<boolean> {
    const { context: { ports, store }, instance, links } = this.parts;
    const holder = links.holder(agent);
    if (holder === null) return await this.#askHere(tenant, agent.id);
    const id = ports.entropy.id("inq");
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const giveUp = ports.clock.after(ANSWER_MS, () => resolve(false));
    this.#waiting.set(id, resolve);
    try {
      const message = {
        kind: "inspect",
        tenant,
        agent_id: agent.id,
        id,
        reply_to: instance,
      } as const;
      await store.transact((tx) => sendMessage(ports, tx, holder, message));
      return await promise;
    } finally {
      giveUp();
      this.#waiting.delete(id);
    }
  }

  /** Answers another instance's inquiry. */
  async take(
    { tenant, agent_id, id, reply_to }: Extract<Message, { kind: "inspect" }>,
  ): Promise<void> {
    const { ports, store } = this.parts.context;
    const reached = await this.#askHere(tenant, agent_id);
    await store.transact((tx) =>
      sendMessage(ports, tx, reply_to, { kind: "inspected", id, reached })
    );
  }

  /** An inquiry of this instance was answered. */
  answered({ id, reached }: Extract<Message, { kind: "inspected" }>): void {
    this.#waiting.get(id)?.(reached);
  }

  async #askHere(tenant: Tenant, agentId: string): Promise<boolean> {
    return (await this.parts.links.of(tenant, agentId)?.inspect() ?? null) !== null;
  }
}
