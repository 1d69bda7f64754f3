import { RelayError } from "./error.ts";

/** One event of a stream. */
export interface StreamEvent {
  /** Its type, such as `event` or `heartbeat`. */
  readonly event: string;
  /** The id to resume after; null before the first. */
  readonly id: string | null;
  /** The parsed JSON of its data. */
  readonly data: unknown;
}

/** The largest event, in UTF-16 code units. */
const EVENT_CHARS_MAX = 4 * 1024 * 1024;

/** Reads the format of server-sent events from pieces of text. */
export class EventParser {
  #rest = "";
  #type = "";
  #data: string[] = [];
  #chars = 0;
  #id: string | null;
  readonly #path: string;
  readonly #charsMax: number;
  /** The delay before a reconnection that the server asked for last. */
  retryMs: number | null = null;

  constructor(lastEventId: string | null, path: string, charsMax = EVENT_CHARS_MAX) {
    this.#id = lastEventId;
    this.#path = path;
    this.#charsMax = charsMax;
  }

  /** The events that the next piece of text completes. @throws {RelayError} */
  *read(text: string): Generator<StreamEvent> {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    this.#bound(this.#rest.length);
    for (const line of lines) {
      const event = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event !== null) yield event;
    }
  }

  #line(line: string): StreamEvent | null {
    if (line === "") return this.#end();
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === "event") this.#type = value ?? "";
    else if (field === "id") this.#id = value ?? "";
    else if (field === "retry" && /^\d{1,9}$/.test(value ?? "")) this.retryMs = Number(value);
    else if (field === "data") {
      this.#bound(value?.length ?? 0);
      this.#data.push(value ?? "");
      this.#chars += value?.length ?? 0;
    }
    return null;
  }

  #end(): StreamEvent | null {
    const [data, event] = [this.#data.join("\n"), this.#type || "message"];
    [this.#data, this.#type, this.#chars] = [[], "", 0];
    return data === "" ? null : { event, id: this.#id, data: this.#json(data) };
  }

  #json(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.#unreadable("The stream holds an event that is not JSON.");
    }
  }

  #bound(more: number): void {
    if (this.#chars + more > this.#charsMax) {
      throw this.#unreadable(`The stream holds an event with over ${this.#charsMax} characters.`);
    }
  }

  #unreadable(message: string): RelayError {
    return new RelayError(message, { status: 0, code: "UNREADABLE", path: this.#path });
  }
}
