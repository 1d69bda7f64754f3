import type { OutputSink } from "../../core/agents/agents.ts";
import { type Message, STREAM_ENDS, type StreamEnd } from "../../core/events/events.ts";
import { Fault } from "../../core/fault/fault.ts";
import type { Log } from "../../core/ports/ports.ts";
import { faultOf } from "../call/fault_of.ts";
import type { Follow } from "./event_frames.ts";
import type { SocketSink } from "./socket_sink.ts";

/** Commands that one socket follows at most. */
const FOLLOWED_MAX = 32;
/** When a client may ask again, because outputs that it no longer wants are still being opened. */
const OPENING_SECONDS = 1;

/** Opens a command's output for a client; returns how to stop. @throws {Fault} */
export type OpenFollowed = (follow: Follow, sink: OutputSink) => Promise<() => void>;

/**
 * The commands whose output one socket follows. What the client has not read holds back all of them, because they
 * share its connection.
 */
export class SocketOutputs {
  readonly #followed = new Map<string, FollowedOutput>();
  /** Outputs that are being opened, those that are no longer wanted included. */
  #opening = 0;
  /** The reading that was asked for last. */
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly sink: SocketSink,
    private readonly log: Pick<Log, "error">,
    private readonly open: OpenFollowed,
  ) {}

  /** Follows a command in place of an earlier wish for it. A refusal is a message. Never rejects. */
  async follow(follow: Follow): Promise<void> {
    const { command_id } = follow;
    this.unfollow(command_id);
    if (this.#followed.size >= FOLLOWED_MAX) return this.refuse(command_id, tooMany({}));
    if (this.#opening >= FOLLOWED_MAX) {
      return this.refuse(command_id, tooMany({ retry_after: OPENING_SECONDS }));
    }
    const output = new FollowedOutput(command_id, this.sink, {
      inTurn: (read) => this.#inTurn(read),
      ended: () => this.#forget(command_id, output),
    });
    this.#followed.set(command_id, output);
    this.#opening++;
    try {
      output.opened(await this.open(follow, output));
    } catch (error) {
      if (this.#forget(command_id, output)) this.refuse(command_id, error);
    } finally {
      this.#opening--;
    }
  }

  /** Does nothing for a command that is not followed. */
  unfollow(commandId: string): void {
    this.#followed.get(commandId)?.stop();
    this.#followed.delete(commandId);
  }

  /** Says why a command's output does not come. */
  refuse(commandId: string, error: unknown): void {
    const fault = faultOf(error);
    if (fault === null) this.log.error("a followed output failed", { error: String(error) });
    const { code, message, details } = fault ?? new Fault("INTERNAL_ERROR");
    const json = JSON.stringify({ code, message, details });
    this.sink.sendAbout(commandId, { kind: "refused", id: null, json });
  }

  /** The client has left. */
  close(): void {
    for (const id of [...this.#followed.keys()]) this.unfollow(id);
  }

  /** True when this was still followed. */
  #forget(commandId: string, output: FollowedOutput): boolean {
    return this.#followed.get(commandId) === output && this.#followed.delete(commandId);
  }

  #inTurn<T>(read: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(read);
    this.#lastTurn = turn.catch(() => {});
    return turn;
  }
}

const tooMany = (retry: { readonly retry_after?: number }) =>
  new Fault(
    "RATE_LIMIT_EXCEEDED",
    `A socket follows at most ${FOLLOWED_MAX} commands. Unfollow one first.`,
    { limit: FOLLOWED_MAX, scope: "streams", ...retry },
  );

/** One command's output on a socket that carries other messages too. */
class FollowedOutput implements OutputSink {
  #leave = () => {};
  #stopped = false;

  constructor(
    private readonly commandId: string,
    private readonly sink: SocketSink,
    private readonly socket: {
      readonly inTurn: OutputSink["inTurn"];
      readonly ended: () => void;
    },
  ) {}

  /** The output is open; `leave` closes it. */
  opened(leave: () => void): void {
    if (this.#stopped) leave();
    else this.#leave = leave;
  }

  /** Sends nothing any more. */
  stop(): void {
    this.#stopped = true;
    this.#leave();
  }

  get bufferedBytes(): number {
    return this.sink.bufferedBytes;
  }

  /** Heartbeats are those of the socket. */
  send(messages: readonly Message[]): void {
    for (const message of messages) {
      if (!this.#stopped && message.kind !== "heartbeat") {
        this.sink.sendAbout(this.commandId, message);
      }
    }
  }

  drained(): Promise<void> {
    return this.sink.drained();
  }

  inTurn<T>(read: () => Promise<T>): Promise<T> {
    return this.socket.inTurn(read);
  }

  end(name: StreamEnd): void {
    // The client may follow the command anew, and would take this for the end of that.
    if (this.#stopped) return;
    const { code, then, meaning } = STREAM_ENDS[name];
    const json = JSON.stringify({ code, name, then, message: meaning });
    this.sink.sendAbout(this.commandId, { kind: "end", id: null, json });
    this.socket.ended();
  }

  finish(): void {
    this.socket.ended();
  }
}
