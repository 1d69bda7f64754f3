import type { Clock } from "../ports.ts";
import {
  MAX_CONCURRENT_COMMANDS,
  type OutputFrame,
  type RefusedFrame,
  type ResultFrame,
} from "../protocol.ts";
import type { AgentSocket } from "./port.ts";

/** Above this many unsent bytes the agent stops reading its commands' pipes. */
const HIGH_WATER_BYTES = 4 * 1024 * 1024;
/** How much output waits for a new link, in UTF-16 units over all commands; the rest is dropped. */
const MAX_WAITING_LENGTH = 16 * 1024 * 1024;
/** A result that was sent this long before its link broke is sent again on the next one. */
const RESEND_MS = 60_000;

type Started = { readonly type: "started"; readonly command_id: string };

/** What leaves the agent on behalf of its commands. */
export type CommandFrame = Started | OutputFrame | ResultFrame | RefusedFrame;

/** Sends frames over the link, and keeps them while there is none. */
export interface Outbox {
  /** Counts the links that were lost. Output of an earlier epoch may never have arrived. */
  readonly epoch: number;
  /** Sends or keeps a frame; false when it is output that had to be dropped. */
  post(frame: CommandFrame): boolean;
  /** The link is welcome: sends the last results again, then what has been waiting. */
  attach(socket: AgentSocket): void;
  /** The link is lost. */
  detach(): void;
  /** True while the relay reads more slowly than the commands write. */
  pressed(): boolean;
  /** Commands whose result the next link will carry. */
  unsettled(): string[];
}

/** Opens an outbox; a result may leave it twice, never not at all while the agent lives. */
export function openOutbox(clock: Clock): Outbox {
  let epoch = 0;
  let socket: AgentSocket | undefined;
  let waiting: CommandFrame[] = [];
  let waitingLength = 0;
  let sent: { frame: ResultFrame; at: number }[] = [];

  function send(to: AgentSocket, frame: CommandFrame) {
    to.send(JSON.stringify(frame));
    if (frame.type !== "result") return;
    sent.push({ frame, at: clock.now() });
    if (sent.length > MAX_CONCURRENT_COMMANDS) sent.shift();
  }

  function forgetOld() {
    const since = clock.now() - RESEND_MS;
    sent = sent.filter(({ at }) => at >= since);
  }

  return {
    get epoch() {
      return epoch;
    },
    post(frame) {
      if (socket !== undefined) {
        send(socket, frame);
        return true;
      }
      if (frame.type === "output") {
        if (waitingLength + frame.data.length > MAX_WAITING_LENGTH) return false;
        waitingLength += frame.data.length;
      }
      waiting.push(frame);
      return true;
    },
    attach(to) {
      socket = to;
      forgetOld();
      for (const { frame } of sent) to.send(JSON.stringify(frame));
      const frames = waiting;
      waiting = [];
      waitingLength = 0;
      for (const frame of frames) send(to, frame);
    },
    detach() {
      socket = undefined;
      epoch++;
      forgetOld();
    },
    pressed: () => socket !== undefined && socket.bufferedAmount > HIGH_WATER_BYTES,
    unsettled() {
      forgetOld();
      const results = waiting.filter((frame) => frame.type === "result");
      return [...sent.map(({ frame }) => frame), ...results].map((frame) => frame.command_id);
    },
  };
}
