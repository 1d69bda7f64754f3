import {
  type CommandResult,
  jsonBytesMax,
  MAX_AGENT_FRAME_BYTES,
  MAX_CONCURRENT_COMMANDS,
  openBatch,
  type OutputFrame,
  receiptText,
  type RefusedFrame,
} from "../../protocol/protocol.ts";
import type { Clock } from "../../ports/ports.ts";
import type { AgentSocket } from "./interfaces.ts";

/** Above this many unsent bytes the agent stops reading its commands' pipes. */
const HIGH_WATER_BYTES = 4 * 1024 * 1024;
/** Output kept for a new link, in UTF-16 units over all commands; the rest is dropped. */
const MAX_WAITING_LENGTH = 16 * 1024 * 1024;
/** The relay has recorded every result that was sent this long before its answer to a heartbeat. */
const RECORDED_MS = 60_000;
/** The least number of results that a new link repeats. */
const RESENT_MIN = MAX_CONCURRENT_COMMANDS;
/** The size of a result in its frame, without its output. */
const RESULT_BYTES = 512;

type Started = { readonly type: "started"; readonly command_id: string };

/** The end of a command. */
export type Ended = { readonly type: "result" } & CommandResult;

/** The frames that commands send. */
export type CommandFrame = Started | OutputFrame | Ended | RefusedFrame;

/** Sends frames over the link, and keeps them while there is no link. */
export interface Outbox {
  /** Counts the links that were lost. Output of an earlier epoch may never have arrived. */
  readonly epoch: number;
  /** Sends or keeps a frame; false when output had to be dropped. */
  post(frame: CommandFrame): boolean;
  /** Sends the results of this turn at once. */
  flush(): void;
  /** Repeats the last results over an accepted link, then sends the frames that wait. */
  attach(socket: AgentSocket, agentId: string): void;
  /** Drops the kept results that the relay's answer to a heartbeat proves to be recorded. */
  heard(): void;
  /** Keeps frames from now on, because the link is lost. */
  detach(): void;
  /** True while the relay reads more slowly than the commands write. */
  isCongested(): boolean;
  /** Commands whose results wait for the next link. */
  unsettled(): string[];
}

/** A sent message of results, kept in case it did not arrive. */
interface Sent {
  readonly text: string;
  readonly ids: readonly string[];
  readonly at: number;
}

/**
 * Opens an outbox. It sends each result at least once while the agent runs. Results of one turn of the event loop
 * leave together, under one receipt that `sign` signs.
 */
export function openOutbox(clock: Clock, sign: (text: string) => string): Outbox {
  let epoch = 0;
  let socket: AgentSocket | undefined;
  let agentId = "";
  let waiting: CommandFrame[] = [];
  let waitingLength = 0;
  let sent: Sent[] = [];
  const results = openBatch<CommandResult>(MAX_AGENT_FRAME_BYTES, sendResults);

  function sendResults(results: readonly CommandResult[]) {
    const signature = sign(receiptText(agentId, results));
    const text = JSON.stringify({ type: "results", results, signature });
    sent.push({ text, ids: results.map((result) => result.command_id), at: clock.now() });
    while (countSent() - sent[0]!.ids.length >= RESENT_MIN) sent.shift();
    socket?.send(text);
  }

  const countSent = () => sent.reduce((sum, { ids }) => sum + ids.length, 0);

  function send(to: AgentSocket, frame: CommandFrame) {
    if (frame.type !== "result") return to.send(JSON.stringify(frame));
    const { type: _, ...result } = frame;
    const length = jsonBytesMax(result.stdout ?? "") + jsonBytesMax(result.stderr ?? "");
    results.add(result, length + RESULT_BYTES);
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
    flush: results.flush,
    attach(to, id) {
      // Receipts name the agent, so those of a removed agent are invalid for this one.
      if (id !== agentId) sent = [];
      socket = to;
      agentId = id;
      for (const { text } of sent) to.send(text);
      const frames = waiting;
      waiting = [];
      waitingLength = 0;
      for (const frame of frames) send(to, frame);
    },
    // Time alone proves nothing: writes to a dead link may succeed for minutes.
    heard() {
      const since = clock.now() - RECORDED_MS;
      sent = sent.filter(({ at }) => at >= since);
    },
    detach() {
      for (const result of results.drain()) waiting.push({ type: "result", ...result });
      socket = undefined;
      epoch++;
    },
    isCongested: () => socket !== undefined && socket.bufferedAmount > HIGH_WATER_BYTES,
    unsettled() {
      const results = waiting.filter((frame) => frame.type === "result");
      return [...sent.flatMap(({ ids }) => ids), ...results.map((frame) => frame.command_id)];
    },
  };
}
