import type { Tenant } from "../../../kv/store/collection.ts";
import { type CommandRecord, commands } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { sendMessage } from "../../work/work.ts";
import type { Background, Cancel } from "../../ports/ports.ts";
import { findCommand } from "./finished.ts";
import type { Turn } from "./beginnings.ts";
import { insertCommand } from "./keys.ts";
import { settleCommand } from "./settle.ts";

/** How long the agent's instance may take to claim a command. One that it does not claim is not sent. */
const HAND_OVER_MS = 5_000;
/** How long a caller waits for the news after the command's own timeout. */
const NEWS_MS = 30_000;

/** A caller of this instance that waits for a command. */
interface Waiting {
  readonly ended: PromiseWithResolvers<CommandRecord>;
  readonly giveUp: Cancel;
}

/** A command that has not ended, and its end. */
interface Followed {
  readonly done: Promise<CommandRecord>;
}

/** A command that was handed over, and its end. */
interface Started extends Followed {
  readonly record: CommandRecord;
}

/** How a command is handed over. */
interface HandOver {
  /** Writes the queued command; null when it is not to be sent. */
  readonly write: (
    tx: Tx,
    queued: (record: CommandRecord) => CommandRecord,
  ) => CommandRecord | null | Promise<CommandRecord | null>;
  /** Runs when there is no end after the time in which it had to be claimed. */
  readonly notClaimed: () => Promise<void>;
}

interface ElsewhereParts {
  readonly context: Context;
  readonly background: Background;
  /** The id of this process. */
  readonly instance: string;
}

/**
 * Commands of this instance's callers for agents that are linked to other instances. A command is queued in
 * one commit with a message to that instance, which takes it by compare-and-set before it sends it; the commit of its
 * end carries a message to every instance that waits. Only the callers that wait are in memory.
 */
export class Elsewhere {
  readonly #waiting = new Map<string, Waiting>();

  constructor(private readonly parts: ElsewhereParts) {}

  /**
   * Queues a command for the instance that holds its agent's link. `done` resolves with its end.
   * @throws {DuplicateError} when another command has its Idempotency-Key
   * @throws {Fault} CONFLICT when a fleet command has it
   */
  async handOver(
    tenant: Tenant,
    fresh: CommandRecord,
    holder: string,
  ): Promise<Started> {
    const handed = await this.#handOver(tenant, fresh, holder, {
      write: (tx, queued) => insertCommand(tx, tenant, queued(fresh)),
      notClaimed: () => this.#failUnsent(tenant, fresh),
    });
    return handed!;
  }

  /**
   * The same for a command that is recorded already; null when `turn` does not make it ready. When nobody claims it in
   * time, `done` resolves with its queued record.
   */
  async handOverTurn(
    tenant: Tenant,
    recorded: CommandRecord,
    holder: string,
    turn: Turn,
  ): Promise<Started | null> {
    return await this.#handOver(tenant, recorded, holder, {
      write: async (tx, queued) => {
        const row = await tx.get(commands, tenant, recorded.id);
        const ready = row && await turn(tx, row);
        return ready && tx.put(commands, tenant, queued(ready));
      },
      notClaimed: () => this.#endWaitForQueued(tenant, recorded.id),
    });
  }

  async #handOver(
    tenant: Tenant,
    command: CommandRecord,
    holder: string,
    { write, notClaimed }: HandOver,
  ): Promise<Started | null> {
    const { context: { ports, store }, background, instance } = this.parts;
    const { id: command_id, agent_id } = command;
    const queued = (record: CommandRecord): CommandRecord => ({
      ...record,
      status: "queued",
      started_at_ms: null,
      start_before_ms: ports.clock.now() + HAND_OVER_MS,
      reply_to: [instance],
    });
    const done = this.#wait(tenant, command);
    let record: CommandRecord | null = null;
    try {
      record = await store.transact(async (tx) => {
        const written = await write(tx, queued);
        if (written === null) return null;
        sendMessage(ports, tx, holder, { kind: "queued", tenant, command_id, agent_id });
        return written;
      });
    } finally {
      if (record === null) this.#forget(command_id);
    }
    if (record === null) return null;
    ports.clock.after(HAND_OVER_MS, () => {
      if (!this.#waiting.has(command_id)) return;
      background.run("looking at a command that was handed over", notClaimed);
    });
    return { record, done };
  }

  /** The end of a command that is queued or runs at another instance; null when it has ended. */
  async follow(tenant: Tenant, id: string): Promise<Followed | null> {
    const known = this.#waiting.get(id);
    if (known !== undefined) return { done: known.ended.promise };
    const open = await this.parts.context.store.transact((tx) => this.#askForNews(tx, tenant, id));
    return open && await this.#join(tenant, open);
  }

  /** Asks the instance that runs a command to end it. Returns its end; null when it has ended already. */
  async cancel(
    tenant: Tenant,
    id: string,
    holder: string,
    by: string,
  ): Promise<Followed | null> {
    const { ports, store } = this.parts.context;
    const open = await store.transact(async (tx) => {
      const record = await this.#askForNews(tx, tenant, id);
      if (record !== null) sendMessage(ports, tx, holder, { kind: "cancel", command_id: id, by });
      return record;
    });
    return open && await this.#join(tenant, open);
  }

  /** The end of a command was committed at another instance. */
  async ended(tenant: Tenant, id: string): Promise<void> {
    const { store } = this.parts.context;
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    const record = await findCommand(store, store, tenant, id);
    this.#forget(id);
    if (record !== null) waiting.ended.resolve(record);
    else waiting.ended.reject(new Error("an ended command has no record"));
  }

  /** Waits for the end of a command that was open when it was asked for news of it. */
  async #join(tenant: Tenant, open: CommandRecord): Promise<Followed> {
    const { store } = this.parts.context;
    const done = this.#waiting.get(open.id)?.ended.promise ?? this.#wait(tenant, open);
    // The message may have arrived before this process began to wait.
    const now = await store.get(commands, tenant, open.id);
    if (now?.status !== "queued" && now?.status !== "running") await this.ended(tenant, open.id);
    return { done };
  }

  /** Asks for a message at the end of an open command; null when it has ended. */
  async #askForNews(tx: Tx, tenant: Tenant, id: string): Promise<CommandRecord | null> {
    const record = await tx.get(commands, tenant, id);
    const handedOver = record?.status === "queued" && record.start_before_ms !== null &&
      (record.approval_id === null || record.parent_id !== undefined);
    if (record === null || record.status !== "running" && !handedOver) return null;
    const replyTo = new Set(record.reply_to).add(this.parts.instance);
    return tx.put(commands, tenant, { ...record, reply_to: [...replyTo] });
  }

  #wait(tenant: Tenant, { id, timeout_ms }: CommandRecord): Promise<CommandRecord> {
    const { background, context: { ports } } = this.parts;
    const ended = Promise.withResolvers<CommandRecord>();
    ended.promise.catch(() => {});
    // Without news by then, the caller gets the command's present state.
    const giveUp = ports.clock.after(
      HAND_OVER_MS + timeout_ms + NEWS_MS,
      () =>
        background.run(
          "reading a command without news",
          () =>
            this.ended(tenant, id).catch((error) => {
              this.#forget(id);
              ended.reject(error);
            }),
        ),
    );
    this.#waiting.set(id, { ended, giveUp });
    return ended.promise;
  }

  #forget(id: string): void {
    this.#waiting.get(id)?.giveUp();
    this.#waiting.delete(id);
  }

  async #endWaitForQueued(tenant: Tenant, id: string): Promise<void> {
    const record = await this.parts.context.store.get(commands, tenant, id);
    const waiting = this.#waiting.get(id);
    if (record?.status !== "queued" || waiting === undefined) return;
    this.#forget(id);
    waiting.ended.resolve(record);
  }

  async #failUnsent(tenant: Tenant, { id, agent_id: agentId }: CommandRecord): Promise<void> {
    const why = "the instance that holds the agent's link did not take it in time, so it was not " +
      "sent; it is safe to ask again";
    const open = { id, agentId, record: null, fresh: false, from: ["queued"] } as const;
    await settleCommand(this.parts.context, tenant, open, { status: "failed", why });
  }
}
