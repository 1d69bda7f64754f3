import { Buffer } from "node:buffer";

/**
 * Limit of a response's head in bytes, informational heads included, and the same for its trailers. Lines cost
 * far more to read than to send.
 */
const HEAD_BYTES_MAX = 16 * 1024; // the limit of Node and most servers
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([^\0\r\n]*)$/;
const CHUNK_SIZE = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\0\r\n]*)?$/;
const KEPT_SECONDS = /(?:^|[ \t,])timeout=(\d{1,6})/i;
const LENGTH = /^\d{1,15}$/;
const NOTHING = Buffer.alloc(0);

/** What the next bytes are: a kind of line, the body, or nothing of this response. */
type Part = "status" | "field" | "body" | "size" | "chunk end" | "trailer" | "whole";

/**
 * Parses one HTTP/1.1 response as its bytes arrive (RFC 9112). Strict, because the sender is not trusted:
 * ambiguous input is refused or ends the connection.
 */
export class ResponseReader {
  /** Zero until the status line has arrived. */
  status = 0;
  headers: Record<string, string> = Object.create(null);
  #part: Part = "status";
  #pending: Buffer = NOTHING;
  #headBytes = 0;
  #persistent = true;
  #chunked = false;
  /** Bytes left of the body or chunk; Infinity for a body that the end of the connection ends. */
  #left = 0;
  #room: number;
  #kept = new Uint8Array();
  #keptBytes = 0;

  constructor(private readonly method: string, private readonly keepBytes: number) {
    this.#room = keepBytes;
  }

  /** True until the first byte has arrived. */
  get isUntouched(): boolean {
    return this.status === 0 && this.#pending.length === 0;
  }

  /** True once the final head has arrived, after any informational heads. */
  get hasHead(): boolean {
    return this.#part !== "status" && this.#part !== "field";
  }

  /** True when the whole response has arrived. */
  get isWhole(): boolean {
    return this.#part === "whole";
  }

  /** True when more of the body has arrived than is kept. */
  get overflows(): boolean {
    return this.#room < 0;
  }

  /** True when the connection may carry another request: nothing followed the response. */
  get isReusable(): boolean {
    return this.isWhole && this.#persistent && this.#pending.length === 0;
  }

  /** How long the other end keeps the connection idle, as far as it says. */
  get idleMs(): number {
    const seconds = KEPT_SECONDS.exec(this.headers["keep-alive"] ?? "")?.[1];
    return seconds === undefined ? Infinity : Number(seconds) * 1000;
  }

  /** The kept part of the body. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#kept.subarray(0, this.#keptBytes);
  }

  /** Parses further bytes. @throws {Error} when they are not an HTTP response */
  take(bytes: Buffer): void {
    let rest = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    this.#pending = NOTHING;
    while (rest.length > 0 && !this.isWhole && !this.overflows) {
      if (this.#part === "body") {
        rest = this.#keep(rest);
        continue;
      }
      const end = rest.indexOf("\r\n");
      if (this.#headBytes + (end < 0 ? rest.length : end) > HEAD_BYTES_MAX) {
        throw new Error("the response headers are too large");
      }
      if (end < 0) break;
      this.#line(rest.toString("latin1", 0, end));
      rest = rest.subarray(end + 2);
    }
    this.#pending = rest;
  }

  /** The connection has ended, which ends a body without a length. */
  end(): void {
    if (this.#part === "body" && this.#left === Infinity) this.#part = "whole";
  }

  #keep(rest: Buffer): Buffer {
    const some = rest.subarray(0, this.#left);
    if (this.#room > 0) this.#copy(some.subarray(0, this.#room));
    this.#room -= some.length;
    this.#left -= some.length;
    if (this.#left === 0) this.#part = this.#chunked ? "chunk end" : "whole";
    return rest.subarray(some.length);
  }

  /** Copies a piece: a view would keep the whole received buffer alive. */
  #copy(some: Buffer): void {
    const bytes = this.#keptBytes + some.length;
    if (bytes > this.#kept.length) {
      const grown = new Uint8Array(
        Math.min(Math.max(bytes, 2 * this.#kept.length), this.keepBytes),
      );
      grown.set(this.bytes);
      this.#kept = grown;
    }
    this.#kept.set(some, this.#keptBytes);
    this.#keptBytes = bytes;
  }

  #line(line: string): void {
    if (this.#part === "status") this.#beginHead(line);
    else if (this.#part === "field" && line === "") this.#endHead();
    else if (this.#part === "field") this.#field(line);
    else if (this.#part === "size") this.#beginChunk(line);
    else if (this.#part === "trailer" && line === "") this.#part = "whole";
    else if (this.#part === "trailer") this.#headBytes += line.length;
    else if (this.#part === "chunk end" && line === "") this.#part = "size";
    else if (this.#part === "chunk end") throw new Error("a chunk is longer than it says");
  }

  #beginHead(line: string): void {
    const [, minor, status] = STATUS_LINE.exec(line) ?? [];
    if (status === undefined) throw new Error("it does not begin as HTTP/1.1");
    this.status = Number(status);
    this.#persistent = minor === "1";
    this.#headBytes += line.length;
    this.#part = "field";
  }

  #field(line: string): void {
    const [, name, value] = FIELD.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error("a header is malformed");
    this.#headBytes += line.length;
    const lower = name.toLowerCase();
    const before = this.headers[lower];
    this.headers[lower] = before === undefined ? value.trim() : `${before}, ${value.trim()}`;
  }

  #endHead(): void {
    const { status, headers } = this;
    if (status === 101) throw new Error("it switches protocols");
    if (status < 200) {
      this.headers = Object.create(null);
      this.#part = "status";
      return;
    }
    this.#headBytes = 0;
    const { connection, "transfer-encoding": coding, "content-length": length } = headers;
    const options = connection?.toLowerCase().split(",").map((option) => option.trim()) ?? [];
    const knowsChunks = this.#persistent;
    this.#persistent = knowsChunks ? !options.includes("close") : options.includes("keep-alive");
    if (length !== undefined && !LENGTH.test(length)) throw new Error("its length is not a number");
    if (this.method === "HEAD" || status === 204 || status === 304) {
      this.#part = "whole";
    } else if (coding !== undefined) {
      if (coding.toLowerCase() !== "chunked") throw new Error("its transfer coding is unknown");
      // Both headers, or chunks in HTTP/1.0, may be request smuggling: the connection is not reused.
      if (length !== undefined || !knowsChunks) this.#persistent = false;
      this.#chunked = true;
      this.#part = "size";
    } else {
      this.#left = length === undefined ? Infinity : Number(length);
      if (length === undefined) this.#persistent = false;
      this.#part = this.#left === 0 ? "whole" : "body";
    }
  }

  #beginChunk(line: string): void {
    const size = CHUNK_SIZE.exec(line)?.[1];
    if (size === undefined) throw new Error("a chunk has no size");
    this.#left = parseInt(size, 16);
    this.#part = this.#left === 0 ? "trailer" : "body";
  }
}
