import { backoffMs } from "../../../core/client/client.ts";
import type { Space } from "../space.ts";
import { type AboutCommand, Follows } from "./follows.ts";
import type { Host, Socket } from "./host.ts";
import type { FromHub, LinkState } from "./messages.ts";

/** A shorter interruption is not shown. */
const SHOWN_AFTER_MS = 1_000;
/** The longest wait between two attempts: a person is watching. */
const RETRY_MS_MAX = 5_000;
/** A link that was there for this long begins its next attempts without delay. */
const STEADY_MS = 10_000;
/** A link without a message for this long is asked for an answer. */
const QUIET_MS = 5_000;
const ANSWER_MS = 5_000;
/** The most time from an attempt to the stream's first message. */
const OPEN_MS = 10_000;
/** The close code of a session that has ended. */
const CREDENTIAL_ENDED = 4401;

/** A message of the event stream. */
type Received =
  | { readonly type: "hello" | "heartbeat"; readonly id: string }
  | { readonly type: "notification"; readonly id: string; readonly data: unknown }
  | {
    readonly type: "changed";
    readonly id: null;
    readonly data: { readonly resource_type: string | null; readonly resource_id: string | null };
  }
  | { readonly type: "pong" | "warning" };

/** One WebSocket for the tabs of a browser that show one account's space. It connects again until it is closed. */
export class Channel {
  readonly #tabs = new Set<(message: FromHub) => void>();
  readonly follows: Follows;
  readonly #host: Host;
  readonly #space: Space;
  #state: LinkState = "connecting";
  #socket: Socket | null = null;
  /** True once the socket's stream has begun. */
  #begun = false;
  #lastId: string | null = null;
  #failures = 0;
  #cancelQuiet = () => {};
  #cancelRetry = () => {};
  #cancelSteady = () => {};
  #cancelLost: (() => void) | null = null;
  /** Counts connections and ends, so that a late answer is known as such. */
  #attempt = 0;
  #isOver = true;

  constructor(host: Host, space: Space) {
    this.#host = host;
    this.#space = space;
    this.follows = new Follows(host, (frame) => this.#send(frame));
  }

  get isEmpty(): boolean {
    return this.#tabs.size === 0;
  }

  /** Adds a tab, and connects again if the session had ended. */
  add(tell: (message: FromHub) => void): void {
    this.#tabs.add(tell);
    if (this.#isOver) {
      this.#isOver = false;
      this.#setState("connecting");
      this.#down();
      this.#connect();
    }
    tell({ type: "connection", state: this.#state });
    // What the tab fetched before is kept true from now on.
    if (this.#begun) tell({ type: "changed", change: null });
  }

  remove(tell: (message: FromHub) => void): void {
    this.#tabs.delete(tell);
  }

  /** Closes the link for good, or until a tab is added. */
  close(): void {
    this.#isOver = true;
    this.#drop();
    this.#cancelRetry();
    this.#cancelLost?.();
    this.#cancelLost = null;
  }

  /** Closes the link, because the session has ended. */
  signedOut(): void {
    if (this.#isOver) return;
    this.close();
    this.#setState("lost");
    this.#tell({ type: "signed_out" });
  }

  #connect(): void {
    const socket = this.#host.open(this.#space, this.#lastId);
    this.#socket = socket;
    this.#attempt++;
    socket.onmessage = ({ data }) => {
      for (const line of data.split("\n")) {
        if (this.#socket === socket) this.#take(JSON.parse(line));
      }
    };
    socket.onclose = ({ code }) => this.#lose(code);
    this.#cancelQuiet = this.#host.after(OPEN_MS, () => this.#lose(null));
  }

  #take(message: Received | AboutCommand): void {
    this.#expectMore();
    if ("command_id" in message) return this.follows.take(message);
    switch (message.type) {
      case "hello":
        this.#lastId = message.id;
        return this.#begin();
      case "heartbeat":
        this.#lastId = message.id;
        return;
      case "notification":
        this.#lastId = message.id;
        return this.#tell({ type: "notification", notification: message.data });
      case "changed": {
        const { resource_type: type, resource_id: id } = message.data;
        return this.#tell({
          type: "changed",
          change: type === null || id === null ? null : { type, id },
        });
      }
    }
  }

  #begin(): void {
    this.#begun = true;
    this.#cancelLost?.();
    this.#cancelLost = null;
    this.#cancelSteady = this.#host.after(STEADY_MS, () => this.#failures = 0);
    this.#setState("live");
    this.follows.resume();
  }

  #expectMore(): void {
    this.#cancelQuiet();
    this.#cancelQuiet = this.#host.after(QUIET_MS, () => {
      if (this.#begun) this.#send({ type: "ping" });
      this.#cancelQuiet = this.#host.after(ANSWER_MS, () => this.#lose(null));
    });
  }

  /** The socket has closed, with a code, or says nothing. */
  async #lose(code: number | null): Promise<void> {
    const wasRefused = !this.#begun && code !== null;
    this.#drop();
    this.#down();
    const attempt = this.#attempt;
    const isSignedOut = code === CREDENTIAL_ENDED || wasRefused && await this.#host.isSignedOut();
    if (attempt !== this.#attempt) return;
    if (isSignedOut) return this.signedOut();
    const waitMs = Math.min(backoffMs(this.#failures++, this.#host.random()), RETRY_MS_MAX);
    this.#cancelRetry = this.#host.after(waitMs, () => this.#connect());
  }

  /** Forgets the socket. Its events count no more. */
  #drop(): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#begun = false;
    this.#attempt++;
    this.#cancelQuiet();
    this.#cancelSteady();
    if (socket === null) return;
    socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #down(): void {
    this.#cancelLost ??= this.#host.after(SHOWN_AFTER_MS, () => this.#setState("lost"));
  }

  #send(frame: unknown): void {
    if (this.#begun) this.#socket!.send(JSON.stringify(frame));
  }

  #setState(state: LinkState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#tell({ type: "connection", state });
  }

  #tell(message: FromHub): void {
    for (const tell of this.#tabs) tell(message);
  }
}
