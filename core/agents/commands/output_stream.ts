import { isOpen } from "../../../kv/records/command.ts";
import type { Message, OpenStream, Sink, StreamEnd } from "../../events/events.ts";
import type { Actor } from "../../identity/identity.ts";
import { isoOrNull } from "../../codec/codec.ts";
import { offsetAfter } from "./output_log.ts";
import type { OutputRange, OutputReader } from "./live_output.ts";

/** The most output that is read at once. */
const READ_BYTES_MAX = 64 * 1024;
/** Reading pauses while the client has more than this unread. */
const UNREAD_BYTES_MAX = 128 * 1024;

/** The connection to a client that reads output. */
export interface OutputSink extends Sink {
  /** Closes the connection once the client has read everything, because nothing will follow. */
  finish(): void;
  /** Runs a reading, after those of other outputs of the same connection, so that together they respect what is unread. */
  inTurn<T>(read: () => Promise<T>): Promise<T>;
}

interface OutputStreamParts {
  readonly reader: OutputReader;
  readonly sink: OutputSink;
  /** Called when the stream has ended by itself. */
  readonly onEnd: (stream: OutputStream) => void;
  readonly onError: (error: unknown) => void;
}

/**
 * One client that reads a command's output: the command's status, its output from an offset on, and at the end its
 * result. A slow client holds back only its own reading.
 */
export class OutputStream implements OpenStream {
  nextCheckMs = 0;
  #ended = false;
  #status: string | null = null;
  /** True while the client has much unread; `#waitedBefore` is its value at the last heartbeat. */
  #waiting = false;
  #waitedBefore = false;

  constructor(
    public actor: Actor,
    public checkedAtMs: number,
    private position: number,
    private readonly parts: OutputStreamParts,
  ) {}

  get ended(): boolean {
    return this.#ended;
  }

  mayRead({ rights }: Actor): boolean {
    return rights.has("agents:read");
  }

  /** Sends everything until the end. Never rejects. */
  async run(): Promise<void> {
    const { onEnd, onError } = this.parts;
    try {
      while (!this.#ended) await this.#step();
    } catch (error) {
      onError(error);
      this.end("interrupted");
    }
    onEnd(this);
  }

  beat(): void {
    if (this.#waitedBefore) return this.end("too_slow");
    this.#waitedBefore = this.#waiting;
    this.#say({ kind: "heartbeat", id: null, json: "{}" });
  }

  end(name: StreamEnd): void {
    if (this.#ended) return;
    this.left();
    this.parts.sink.end(name);
  }

  left(): void {
    this.#ended = true;
    this.parts.reader.close();
  }

  async #step(): Promise<void> {
    const { reader, sink } = this.parts;
    if (sink.bufferedBytes > UNREAD_BYTES_MAX) await this.#drained();
    const mayHaveMore = await sink.inTurn(() => this.#passOn());
    if (!mayHaveMore && !this.#ended) await reader.changed();
  }

  /** Sends what follows the position; false when there was nothing. */
  async #passOn(): Promise<boolean> {
    const { reader, sink } = this.parts;
    // Another output of the connection may have filled it before this one's turn.
    if (this.#ended || sink.bufferedBytes > UNREAD_BYTES_MAX) return true;
    const range = await reader.read(this.position, READ_BYTES_MAX);
    if (this.#ended) return true;
    if (range === null) {
      this.end("interrupted");
      return true;
    }
    this.#send(range);
    if (range.complete) {
      this.left();
      sink.finish();
    }
    return range.chunks.length > 0;
  }

  #send({ chunks, complete, next, record, truncated }: OutputRange): void {
    const { status } = record;
    if (status !== this.#status && (this.#status === null || isOpen(record))) {
      this.#status = status;
      const { id: command_id, agent_id, approval_id } = record;
      const json = JSON.stringify({ command_id, agent_id, status, approval_id });
      this.#say({ kind: "status", id: null, json });
    }
    for (const chunk of chunks) {
      const after = offsetAfter(chunk.offset, [chunk]);
      this.#say({ kind: "output", id: `${after}`, json: JSON.stringify(chunk) });
    }
    this.position = next;
    if (!complete) return;
    const json = JSON.stringify({
      command_id: record.id,
      status,
      exit_code: record.exit_code,
      signal: record.signal,
      truncated,
      reason: record.reason,
      duration_ms: record.duration_ms,
      finished_at: isoOrNull(record.finished_at_ms),
      next_offset: next,
    });
    this.#say({ kind: "result", id: `${next}`, json });
  }

  #say(message: Message): void {
    this.parts.sink.send([message]);
  }

  async #drained(): Promise<void> {
    this.#waiting = true;
    await this.parts.sink.drained();
    this.#waiting = this.#waitedBefore = false;
  }
}
