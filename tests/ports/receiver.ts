/** One request as it came over a raw connection. */
export interface Heard {
  readonly head: string;
  readonly path: string;
  readonly body: string;
}

/** The receiver's side of one connection. */
export interface Line {
  write(text: string): Promise<boolean>;
  close(): void;
  /** Closes only the receiver's half, and goes on listening for the peer's. */
  end(): Promise<void>;
  /** Reads some bytes, at most 64 KiB, for a receiver that does not wait for whole requests. */
  readSome(): Promise<void>;
}

export interface Receiver extends AsyncDisposable {
  readonly port: number;
  readonly heard: readonly Heard[];
  /** Connections accepted so far. */
  connections(): number;
  /** Resolves when the peers have closed `count` connections in all. */
  untilClosed(count: number): Promise<void>;
  /** Resolves when `count` requests have been heard in all. */
  untilHeard(count: number): Promise<void>;
}

type Respond = (line: Line, request: Heard) => unknown;

interface Options {
  readonly tls?: { cert: string; key: string };
  /** When given, runs at once for each connection, which is then not read. */
  readonly onConnect?: (line: Line) => unknown;
}

/** A receiver on loopback that answers byte by byte as a test tells it, well-formed or not. */
export function startReceiver(respond: Respond, options: Options = {}): Receiver {
  const address = { hostname: "127.0.0.1", port: 0 };
  const listener = options.tls === undefined
    ? Deno.listen(address)
    : Deno.listenTls({ ...address, ...options.tls });
  const open = new Set<Deno.Conn>();
  const heard: Heard[] = [];
  let connections = 0;
  let closed = 0;
  let wake = () => {};
  const until = async (reached: () => boolean) => {
    while (!reached()) {
      await new Promise<void>((resolve) => {
        const before = wake;
        wake = () => (before(), resolve());
      });
    }
  };
  const serve = async (conn: Deno.Conn) => {
    const line = lineOf(conn);
    if (options.onConnect !== undefined) return await options.onConnect(line);
    for await (const request of requestsOf(conn)) {
      heard.push(request);
      wake();
      respond(line, request);
    }
    closed++;
    wake();
  };
  const accepting = (async () => {
    for await (const conn of listener) {
      connections++;
      open.add(conn);
      wake();
      serve(conn).catch(() => {});
    }
  })().catch(() => {});
  return {
    port: listener.addr.port,
    heard,
    connections: () => connections,
    untilHeard: (count) => until(() => heard.length >= count),
    untilClosed: (count) => until(() => closed >= count),
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const conn of open) tryClose(conn);
      await accepting;
    },
  };
}

/** A whole small response. */
export function reply(status: number, body = "", headers = ""): string {
  return `HTTP/1.1 ${status} X\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}

function lineOf(conn: Deno.Conn): Line {
  return {
    async write(text) {
      let rest: Uint8Array = new TextEncoder().encode(text);
      while (rest.length > 0) {
        const written = await conn.write(rest).catch(() => null);
        if (written === null) return false;
        rest = rest.subarray(written);
      }
      return true;
    },
    close: () => tryClose(conn),
    end: () => conn.closeWrite(),
    readSome: async () => void await conn.read(new Uint8Array(65_536)),
  };
}

/** Requests as they arrive, one character a byte. */
async function* requestsOf(conn: Deno.Conn): AsyncGenerator<Heard> {
  const chunk = new Uint8Array(65_536);
  let text = "";
  while (true) {
    const end = text.indexOf("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(text.slice(0, Math.max(end, 0)))?.[1] ?? 0);
    if (end >= 0 && text.length >= end + 4 + length) {
      const head = text.slice(0, end);
      yield { head, path: head.split(" ")[1] ?? "", body: text.slice(end + 4, end + 4 + length) };
      text = text.slice(end + 4 + length);
      continue;
    }
    const read = await conn.read(chunk).catch(() => null);
    if (read === null) return;
    text += new TextDecoder("latin1").decode(chunk.subarray(0, read));
  }
}

function tryClose(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    return; // the peer or the test closed it first
  }
}
