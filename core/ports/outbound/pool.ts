import type { Buffer } from "node:buffer";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { Clock } from "../interfaces.ts";
import type { Phase } from "./failure.ts";
import { guardLookup, type Lookup } from "./resolve.ts";
import { dialledHost } from "./target.ts";

/** Sockets of one organization to one receiver. Further requests wait. */
const MAX_SOCKETS_PER_HOST = 64;

/** Idle sockets kept for reuse, over all hosts of a pool. */
const MAX_IDLE_SOCKETS = 256;

/** Shorter than the 5 s after which common servers close, so reuse seldom meets a closing socket. */
const IDLE_SOCKET_MS = 4_000;

/** An exchange that has a socket to itself or waits for one. */
export interface Holder {
  /** The socket, from the dial on; null while it waits. */
  connection: Connection | null;
  /** Called when the socket is open; it belongs to the holder until it returns or closes the socket. */
  opened(): void;
  received(bytes: Buffer): void;
  /** Called when the connection has ended or could not be opened. */
  ended(error: Error | null): void;
}

/** One socket and its holder. */
export interface Connection {
  readonly socket: Socket;
  /** The phase of the connection: an open one is ready for the exchange. */
  phase: Phase;
  /** True after the first exchange: the other end may be closing it at this moment. */
  used: boolean;
  /** When each phase of its opening ended, in ms; null before that. */
  readonly times: Times;
  holder: Holder | null;
}

/** The instants of a connection's opening, in ms. */
export interface Times {
  readonly begunMs: number;
  resolvedMs: number | null;
  connectedMs: number | null;
  openMs: number | null;
}

/** The target of a request and its organization. */
export interface Destination {
  readonly url: URL;
  readonly organization: string | null;
}

const keyOf = ({ url, organization }: Destination): string => `${organization ?? ""} ${url.origin}`;

/**
 * The connections of one organization to one scheme, name and port, so that a slow or misbehaving receiver
 * affects no other organization.
 */
interface Host {
  readonly to: Destination;
  open: number;
  readonly idle: Connection[];
  readonly waiting: Set<Holder>;
}

/**
 * The sockets of one dial policy. They are reused by name and port without checking addresses again, so each
 * policy has a pool of its own.
 */
export class Pool {
  readonly #hosts = new Map<string, Host>();
  readonly #connections = new Set<Connection>();
  readonly #roots: { ca?: string[] };
  #idle = 0;
  #isClosed = false;

  constructor(
    private readonly policy: {
      readonly lookUp: Lookup;
      readonly allowPrivate: boolean;
      readonly clock: Pick<Clock, "now">;
      readonly trustedRoots?: readonly string[];
    },
  ) {
    this.#roots = policy.trustedRoots === undefined ? {} : { ca: [...policy.trustedRoots] };
  }

  /** Gives a holder an idle socket, or dials. */
  take(to: Destination, holder: Holder): void {
    const kept = this.#keptOf(this.#hostOf(to));
    if (kept !== undefined) this.#hand(kept, holder);
    else this.dial(to, holder);
  }

  /** Dials a socket for a holder, or lets it wait for a returned one. */
  dial(to: Destination, holder: Holder): void {
    if (this.#isClosed) return holder.ended(closedError());
    const host = this.#hostOf(to);
    holder.connection = null;
    if (host.open < MAX_SOCKETS_PER_HOST) this.#dial(host, holder);
    else host.waiting.add(holder);
  }

  /**
   * Returns a reusable socket: it goes to the next holder, or is kept idle unless the other end closes it
   * within `keptMs`, when a new request might just use it.
   */
  giveBack(to: Destination, connection: Connection, keptMs: number): void {
    const host = this.#hostOf(to);
    const [next] = host.waiting;
    connection.holder = null;
    connection.used = true;
    if (next !== undefined) {
      host.waiting.delete(next);
      this.#hand(connection, next);
    } else if (this.#idle < MAX_IDLE_SOCKETS && keptMs > IDLE_SOCKET_MS) {
      this.#idle++;
      host.idle.push(connection);
    } else {
      connection.socket.destroy();
    }
  }

  /** Closes the holder's socket, or ends its wait. */
  leave(to: Destination, holder: Holder): void {
    if (holder.connection !== null) holder.connection.socket.destroy();
    else this.#hosts.get(keyOf(to))?.waiting.delete(holder);
  }

  /** Closes every socket and notifies all holders. */
  close(): void {
    this.#isClosed = true;
    for (const { waiting } of this.#hosts.values()) {
      for (const holder of waiting) holder.ended(closedError());
      waiting.clear();
    }
    for (const { socket } of this.#connections) socket.destroy();
  }

  #hostOf(to: Destination): Host {
    const key = keyOf(to);
    let host = this.#hosts.get(key);
    if (host === undefined) {
      host = { to, open: 0, idle: [], waiting: new Set() };
      this.#hosts.set(key, host);
    }
    return host;
  }

  /** The most recently used idle socket that is not about to close. */
  #keptOf(host: Host): Connection | undefined {
    for (;;) {
      const kept = host.idle.pop();
      if (kept !== undefined) this.#idle--;
      if (!kept?.socket.destroyed) return kept;
    }
  }

  #hand(connection: Connection, holder: Holder): void {
    connection.holder = holder;
    holder.connection = connection;
    holder.opened();
  }

  #dial(host: Host, holder: Holder): void {
    const { clock } = this.policy;
    const left = new AbortController();
    const times: Times = {
      begunMs: clock.now(),
      resolvedMs: null,
      connectedMs: null,
      openMs: null,
    };
    const socket = this.#connect(host.to, left.signal, times);
    socket.setNoDelay(); // else the end of a request waits for an acknowledgement
    const connection: Connection = { socket, phase: "connect", used: false, times, holder };
    holder.connection = connection;
    host.open++;
    this.#connections.add(connection);
    const open = () => {
      times.openMs = clock.now();
      connection.phase = "http";
      connection.holder?.opened();
    };
    const isTls = host.to.url.protocol === "https:";
    socket.once("connect", () => {
      times.connectedMs = clock.now();
      if (isTls) connection.phase = "tls";
      else open();
    });
    if (isTls) socket.once("secureConnect", open);
    let reason: Error | null = null;
    socket.on("error", (error) => reason = error);
    socket.on("data", (bytes: Buffer) => {
      // Unrequested bytes would be taken for the answer to the next request.
      if (connection.holder === null) socket.destroy();
      else connection.holder.received(bytes);
    });
    socket.on("end", () => socket.destroy());
    socket.on("timeout", () => connection.holder === null && socket.destroy());
    socket.once("close", () => {
      left.abort();
      this.#closed(host, connection, reason);
    });
  }

  #connect({ url, organization }: Destination, left: AbortSignal, times: Times): Socket {
    const { lookUp, allowPrivate, clock } = this.policy;
    const host = dialledHost(url);
    const ask = async (hostname: string) => {
      const found = await lookUp(hostname, organization, left);
      times.resolvedMs = clock.now();
      return found;
    };
    const options = {
      host,
      port: Number(url.port || (url.protocol === "https:" ? 443 : 80)),
      lookup: guardLookup(ask, allowPrivate),
      timeout: IDLE_SOCKET_MS,
    };
    if (url.protocol !== "https:") return connect(options);
    const servername = isIP(host) === 0 ? host : "";
    return connectTls({ ...options, ...this.#roots, servername, ALPNProtocols: ["http/1.1"] });
  }

  #closed(host: Host, connection: Connection, reason: Error | null): void {
    this.#connections.delete(connection);
    host.open--;
    const at = host.idle.indexOf(connection);
    if (at >= 0) {
      host.idle.splice(at, 1);
      this.#idle--;
    }
    const [next] = host.waiting;
    if (next !== undefined) {
      host.waiting.delete(next);
      this.#dial(host, next);
    } else if (host.open === 0) {
      this.#hosts.delete(keyOf(host.to));
    }
    connection.holder?.ended(reason);
  }
}

const closedError = () => new Error("the network port is closed");
