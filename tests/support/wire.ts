import { Buffer } from "node:buffer";

/** A message of a stream, whatever carried it. */
export interface WireMessage {
  readonly kind: string;
  readonly id: string | null;
  // deno-lint-ignore no-explicit-any -- tests look into messages of every shape
  readonly data: any;
}

/** How events are carried; `batches` is a WebSocket whose frames hold several messages. */
export type Carrier = "sse" | "ws" | "batches";

/** A reader of events over bare TCP: it can be cut off at any byte. */
export class WireReader {
  #bytes = Buffer.alloc(0);
  #begun = false;

  private constructor(
    private readonly socket: Deno.TcpConn,
    private readonly carrier: Carrier,
  ) {}

  static async open(
    port: number,
    carrier: Carrier,
    key: string,
    lastEventId: string | null,
    path = "/api/events",
  ): Promise<WireReader> {
    const socket = await Deno.connect({ hostname: "127.0.0.1", port });
    const own = carrier === "sse" ? [`GET ${path} HTTP/1.0`, "Accept: text/event-stream"] : [
      "GET /ws HTTP/1.1",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
      ...(carrier === "batches" ? ["Sec-WebSocket-Protocol: relay.events.batches.v1"] : []),
    ];
    const resume = lastEventId === null ? [] : [`Last-Event-ID: ${lastEventId}`];
    const head = [...own, "Host: 127.0.0.1", `X-Api-Key: ${key}`, ...resume, "", ""];
    await socket.write(new TextEncoder().encode(head.join("\r\n")));
    return new WireReader(socket, carrier);
  }

  /** Reads on for at most so many bytes; null when the relay has ended the stream. */
  async read(bytesMax: number): Promise<WireMessage[] | null> {
    const buffer = new Uint8Array(Math.max(1, Math.min(bytesMax, 16 * 1024)));
    const n = await this.socket.read(buffer);
    if (n === null) return null;
    this.bytesRead += n;
    this.#bytes = Buffer.concat([this.#bytes, buffer.subarray(0, n)]);
    if (!this.#begun && !this.#skipHead()) return [];
    return this.carrier === "sse" ? this.#events() : this.#frames();
  }

  bytesRead = 0;

  /** Is gone without a word. */
  cut(): void {
    this.socket.close();
  }

  #skipHead(): boolean {
    const end = this.#bytes.indexOf("\r\n\r\n");
    if (end === -1) return false;
    const status = this.#bytes.subarray(0, end).toString().split(" ")[1];
    if (status !== "200" && status !== "101") throw new Error(this.#bytes.toString());
    this.#bytes = this.#bytes.subarray(end + 4);
    return this.#begun = true;
  }

  #events(): WireMessage[] {
    const end = this.#bytes.lastIndexOf("\n\n");
    if (end === -1) return [];
    const text = this.#bytes.subarray(0, end).toString();
    this.#bytes = this.#bytes.subarray(end + 2);
    return text.split("\n\n").map((block) => {
      const fields = new Map(
        block.split("\n").map((line) => {
          const colon = line.indexOf(": ");
          return [line.slice(0, colon), line.slice(colon + 2)];
        }),
      );
      const kind = fields.get("event") ?? "";
      return { kind, id: fields.get("id") ?? null, data: JSON.parse(fields.get("data") ?? "null") };
    });
  }

  #frames(): WireMessage[] {
    const messages: WireMessage[] = [];
    for (;;) {
      const bytes = this.#bytes;
      const short = bytes.length < 2 ? 0 : bytes[1]! & 0x7f;
      const head = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (bytes.length < head) return messages;
      const size = short === 126
        ? bytes.readUInt16BE(2)
        : short === 127
        ? Number(bytes.readBigUInt64BE(2))
        : short;
      if (bytes.length < head + size) return messages;
      const body = bytes.subarray(head, head + size);
      this.#bytes = bytes.subarray(head + size);
      const opcode = bytes[0]! & 0x0f;
      if (opcode === 8) messages.push({ kind: "close", id: null, data: body.readUInt16BE(0) });
      if (opcode !== 1) continue;
      const lines = this.carrier === "batches" ? body.toString().split("\n") : [body.toString()];
      for (const line of lines) {
        const { type, id, data } = JSON.parse(line);
        messages.push({ kind: type, id, data });
      }
    }
  }
}
