import { PIECE_CHARS_MAX, piecesFrom, stagePiece } from "../../kv/instances/output.ts";
import { agents } from "../../kv/records/agent.ts";
import type { CommandRecord } from "../../kv/records/command.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { Links } from "../agents/agents.ts";
import type { Context } from "../context/context.ts";
import { type Message, sendMessage } from "../work/work.ts";
import type { Background, Cancel } from "../ports/ports.ts";
import type { RunningCommands } from "./running_commands.ts";

/** The least time between two pieces of one command's output to one follower. */
const INTERVAL_MS = 100;
/** How often a command that does not run here is looked for: as long as it may wait for its claim. */
const LOOKS_MAX = 50;

type Listener = (text: string) => void;

/** A follower here of a command that runs elsewhere. */
interface Follower {
  readonly listener: Listener;
  /** The number of the next piece. */
  next: number;
  /** Pieces are read by one reader at a time. */
  reading: Promise<void>;
}

interface LiveOutputParts {
  readonly context: Pick<Context, "ports" | "store">;
  readonly background: Background;
  readonly commands: RunningCommands;
  readonly links: Pick<Links, "holder">;
  /** The id of this process. */
  readonly instance: string;
}

/**
 * The output of commands while they run, at whichever instance. The agent's instance writes pieces to the store only
 * while somebody elsewhere follows. They may be lost: the command's result has all of its output.
 */
export class LiveOutput {
  readonly #followers = new Map<string, Follower>();

  constructor(private readonly parts: LiveOutputParts) {}

  /** Calls `listener` with the past and future output of a running command; returns how to stop. */
  follow(tenant: Tenant, record: CommandRecord, listener: Listener): () => void {
    const { background, commands, context: { ports, store } } = this.parts;
    if (store.sole || commands.running(tenant, record.id) !== null) {
      return commands.follow(record.id, (_, text) => listener(text));
    }
    if (record.status !== "queued" && record.status !== "running") return () => {};
    const id = ports.entropy.id("flw");
    this.#followers.set(id, { listener, next: 0, reading: Promise.resolve() });
    background.run("following a command", () => this.#askHolder(tenant, record, id));
    return () => this.#followers.delete(id);
  }

  /** Sends another instance the output of a command until it ends. */
  serve(message: Extract<Message, { kind: "follow" }>, looks = LOOKS_MAX): void {
    const { command_id, id, to } = message;
    const { background, commands, context: { ports, store } } = this.parts;
    const end = commands.waitFor(command_id);
    if (end === undefined) {
      // Messages may overtake each other: the one that hands the command over may come after this one.
      if (looks > 0) ports.clock.after(INTERVAL_MS, () => this.serve(message, looks - 1));
      return;
    }
    let waiting = "", sent = 0;
    let cancel: Cancel | null = null, unfollow = () => {};
    const send = () => {
      const text = waiting.slice(0, PIECE_CHARS_MAX), n = sent++;
      waiting = waiting.slice(PIECE_CHARS_MAX);
      cancel = ports.clock.after(INTERVAL_MS, () => {
        cancel = null;
        if (waiting !== "") send();
      });
      background.run("sending output to another instance", () =>
        store.transact((tx) => {
          stagePiece(tx, id, n, text);
          sendMessage(ports, tx, to, { kind: "output", id });
        }));
    };
    const stop = () => {
      cancel?.();
      unfollow();
    };
    commands.whenStarted(command_id).then(() => {
      unfollow = commands.follow(command_id, (_, text) => {
        waiting += text;
        if (cancel === null) send();
      });
    });
    end.then(stop, stop);
  }

  /** Pieces have come for a follower here. */
  async arrived(id: string): Promise<void> {
    const follower = this.#followers.get(id);
    if (follower === undefined) return;
    const reading = follower.reading.then(() => this.#read(id, follower));
    follower.reading = reading.catch(() => {});
    await reading;
  }

  async #askHolder(tenant: Tenant, { id, agent_id }: CommandRecord, follow: string) {
    const { context: { ports, store }, instance, links } = this.parts;
    const agent = await store.get(agents, tenant, agent_id);
    const holder = agent && links.holder(agent);
    if (holder === null) return;
    const message = { kind: "follow", tenant, command_id: id, id: follow, to: instance } as const;
    await store.transact((tx) => sendMessage(ports, tx, holder, message));
  }

  async #read(id: string, follower: Follower): Promise<void> {
    for await (const text of piecesFrom(this.parts.context.store, id, follower.next)) {
      follower.next++;
      if (this.#followers.has(id)) follower.listener(text);
    }
  }
}
