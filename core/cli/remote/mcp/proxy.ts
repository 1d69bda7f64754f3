import { backoffMs, RelayError } from "../../../client/client.ts";
import type { Host } from "../host.ts";
import { type Ended, type Endpoint, SessionEndedError } from "./endpoint.ts";
import { linesOf } from "./lines.ts";
import {
  errorText,
  failureText,
  isRepeatable,
  type Message,
  messageOf,
  META_SUBSCRIPTION,
  notification,
  repeatedHeaders,
  versionIn,
} from "./message.ts";
import { Session } from "./session.ts";

/** The relay accepts no larger body. */
const LINE_BYTES_MAX = 1024 * 1024;
/** The most messages under way. */
const UNDER_WAY_MAX = 64;
/** A request is repeated for this long while the relay is away. */
const AWAY_MS_MAX = 30_000;
const PAUSE_MS_MAX = 5_000;
/** How long the last requests get to be answered when the input has ended. */
const DRAIN_MS = 1_000;
const END_MS = 2_000;
/** Statuses of a proxy before a relay that is away. */
const AWAY = [502, 503, 504];
/**
 * The least time between a call's progress and its answer. A client that reads both at once may take the progress for
 * that of an unknown call, and some then close the connection.
 */
const APART_MS = 50;
const INVALID_REQUEST = -32600;
const TOO_MANY = 429;
const LISTEN = "subscriptions/listen";
const CANCELLED = "notifications/cancelled";
const PROGRESS = "notifications/progress";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

type Answer = Readonly<Record<string, unknown>>;

/** One message under way. */
interface Task {
  readonly message: Message;
  readonly controller: AbortController;
  done: Promise<void>;
}

/** Passes messages between a client that speaks by lines and the relay's endpoint. */
export class Proxy {
  readonly #stop = new AbortController();
  readonly #tasks = new Set<Task>();
  readonly #session: Session;
  /** The `initialize` under way; later messages belong to its session. */
  #beginning: Promise<void> = Promise.resolve();
  #written: Promise<void> = Promise.resolve();
  #follows = false;
  #troubled = false;

  constructor(
    private readonly endpoint: Endpoint,
    private readonly host: Pick<Host, "write" | "now" | "sleep" | "after" | "random">,
    /** Tells a person, on the standard error. */
    private readonly note: (text: string) => Promise<void>,
  ) {
    this.#session = new Session(endpoint, this.#stop.signal);
  }

  /** Passes messages on until the input ends, or nobody reads the output. */
  async run(input: ReadableStream<Uint8Array>): Promise<void> {
    const { signal } = this.#stop;
    const open = input.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
    try {
      for await (const line of linesOf(open, LINE_BYTES_MAX)) await this.#take(line);
      for (const { message, controller } of this.#tasks) {
        if (message.method === LISTEN) controller.abort();
      }
      const answered = Promise.all([...this.#tasks].map(({ done }) => done));
      await Promise.race([answered, this.host.sleep(DRAIN_MS, signal)]);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    this.#stop.abort();
    const ending = new AbortController();
    const forget = this.host.after(END_MS, () => ending.abort());
    await this.#session.end(ending.signal).catch(() => {});
    forget();
  }

  /** Begins with a message, or refuses it; a refusal has to be written before the next line is read. */
  async #take(line: string | null): Promise<void> {
    const message = line === null ? null : messageOf(line);
    if (message === null || typeof message === "number") {
      const why = message === null
        ? `A line has over ${LINE_BYTES_MAX} bytes, or is not UTF-8.`
        : "Each line must hold one JSON-RPC message, which is an object.";
      const code = message ?? INVALID_REQUEST;
      return await this.#print(errorText(null, code, why, { code: "VALIDATION_FAILED" }));
    }
    // Room for what cancels the others.
    const most = message.method === CANCELLED ? 2 * UNDER_WAY_MAX : UNDER_WAY_MAX;
    if (this.#tasks.size >= most) {
      const why = `${UNDER_WAY_MAX} messages are under way. Wait for an answer first.`;
      const text = errorText(message.id, TOO_MANY, why, { code: "RATE_LIMIT_EXCEEDED" });
      return message.asks ? await this.#print(text) : undefined;
    }
    const task: Task = { message, controller: new AbortController(), done: Promise.resolve() };
    this.#tasks.add(task);
    const work = message.asks ? this.#request(message, task) : this.#notify(message);
    task.done = work.finally(() => this.#tasks.delete(task));
    if (message.method === "initialize") this.#beginning = task.done;
  }

  async #notify(message: Message): Promise<void> {
    const { signal } = this.#stop;
    await this.#beginning;
    const { method, params } = message;
    const isOf = (task: Task) => task.message.asks && task.message.id === params.requestId;
    const cancelled = method === CANCELLED ? [...this.#tasks].find(isOf) : undefined;
    if (method === CANCELLED && cancelled === undefined) return;
    // Without a session the end of the connection cancels.
    const tells = cancelled === undefined ||
      (this.#session.isOpen && versionIn(cancelled.message) === null);
    try {
      if (tells) await this.#send(message, signal, () => Promise.resolve());
    } catch (error) {
      if (signal.aborted) return;
      await this.note(`relay: ${method ?? "an answer"} was lost: ${(error as Error).message}`);
    }
    cancelled?.controller.abort();
    if (method === "notifications/initialized") this.#follow();
  }

  async #request(message: Message, { controller }: Task): Promise<void> {
    if (message.method !== "initialize") await this.#beginning;
    const signal = AbortSignal.any([this.#stop.signal, controller.signal]);
    const reopens = message.method === LISTEN && !("taskIds" in wantedOf(message));
    const startedMs = this.host.now();
    let answer: Answer | null = null, opened = false, progressedAtMs = -Infinity;
    const receive = async (given: Answer, retryMs: number | null) => {
      const isAnswer = !("method" in given);
      const sinceMs = Math.max(0, this.host.now() - progressedAtMs);
      if (isAnswer && sinceMs < APART_MS) await this.host.sleep(APART_MS - sinceMs, signal);
      // A relay that stops ends its streams for now.
      if (signal.aborted || (isAnswer && reopens && retryMs !== null)) return;
      if (isAnswer) answer = given;
      else if (given.method === ACKNOWLEDGED && reopens && opened) {
        return await this.#printMissed(wantedOf(message), message.id);
      }
      opened ||= given.method === ACKNOWLEDGED;
      if (given.method === PROGRESS) progressedAtMs = this.host.now();
      await this.#print(JSON.stringify(given));
    };
    for (let failures = 1; !signal.aborted; failures++) {
      let retryMs: number | null;
      try {
        const ended = await this.#send(message, signal, receive);
        if (answer !== null) return this.#session.answered(message, answer, ended.session);
        if (!reopens) throw lost();
        retryMs = ended.retryMs;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof RelayError)) throw error;
        const awayMs = reopens ? 0 : this.host.now() - startedMs;
        if (awayMs > AWAY_MS_MAX || !mayRepeat(message, error)) {
          return await this.#print(failureText(message, error));
        }
        retryMs = error.retryAfterMs;
      }
      await this.#pause(retryMs, failures, signal);
    }
  }

  /** Sends a message once, in a new session if the relay has ended its session. @throws {RelayError} */
  async #send(
    message: Message,
    signal: AbortSignal,
    receive: (answer: Answer, retryMs: number | null) => Promise<void>,
  ): Promise<Ended> {
    for (let renewed = false;; renewed = true) {
      const session = this.#session.headersFor(message);
      try {
        return await this.endpoint.send({
          method: "POST",
          headers: { ...session, ...repeatedHeaders(message) },
          body: message.text,
          signal,
          opened: () => this.#well(),
          receive,
        });
      } catch (error) {
        const ended = error instanceof SessionEndedError;
        if (signal.aborted || (ended && renewed)) throw lost();
        if (!ended) {
          await this.#trouble(error);
          throw error;
        }
      }
      await this.#session.renew(session);
    }
  }

  /** Follows the messages of the session that belong to no request. */
  #follow(): void {
    if (this.#follows || !this.#session.isOpen) return;
    this.#follows = true;
    this.#followSession().catch(() => this.#stop.abort());
  }

  async #followSession(): Promise<void> {
    const { signal } = this.#stop;
    let missed = false;
    for (let failures = 1; !signal.aborted; failures++) {
      const { headers } = this.#session;
      let retryMs: number | null = null;
      try {
        const ended = await this.endpoint.send({
          method: "GET",
          headers,
          signal,
          opened: async () => {
            failures = 0;
            if (missed) await this.#printMissed(EVERYTHING);
            missed = true;
          },
          receive: (given) => this.#print(JSON.stringify(given)),
        });
        retryMs = ended.retryMs;
      } catch (error) {
        if (signal.aborted) return;
        missed = true;
        if (error instanceof SessionEndedError) await this.#session.renew(headers).catch(() => {});
      }
      await this.#pause(retryMs, failures, signal);
    }
  }

  /** Waits before the next attempt: for as long as the relay wants, else longer after each failure. */
  #pause(retryMs: number | null, failures: number, signal: AbortSignal): Promise<void> {
    const ms = retryMs ?? Math.min(backoffMs(failures, this.host.random()), PAUSE_MS_MAX);
    return this.host.sleep(ms, signal);
  }

  /** While a stream was closed anything may have changed: says so of all that the client follows. */
  async #printMissed(wanted: Message["params"], subscription?: unknown): Promise<void> {
    const meta = subscription !== undefined && { _meta: { [META_SUBSCRIPTION]: subscription } };
    for (const list of ["tools", "prompts", "resources"]) {
      if (wanted[`${list}ListChanged`] !== true) continue;
      await this.#print(notification(`notifications/${list}/list_changed`, { ...meta }));
    }
    const uris = meta ? wanted.resourceSubscriptions : this.#session.uris;
    for (const uri of Array.isArray(uris) ? uris : []) {
      await this.#print(notification("notifications/resources/updated", { uri, ...meta }));
    }
  }

  /** Writes a message as a line. Whoever stops reading ends the program. */
  #print(text: string): Promise<void> {
    // The relay's JSON has no line ends, but a proxy on the way may format it.
    const line = `${text.replaceAll(/[\r\n]+/g, " ")}\n`;
    return this.#written = this.#written.then(() => this.host.write(line))
      .catch(() => this.#stop.abort());
  }

  async #well(): Promise<void> {
    if (this.#troubled) await this.note("relay: the relay answers again");
    this.#troubled = false;
  }

  async #trouble(error: unknown): Promise<void> {
    if (this.#troubled || !(error instanceof RelayError)) return;
    if (error.code !== "UNREACHED" && error.status !== 401) return;
    this.#troubled = true;
    const next = error.status === 401 ? "" : " Trying again.";
    await this.note(`relay: ${error.message}${next}`);
  }
}

/** What a client of a session follows besides its resources. */
const EVERYTHING = { toolsListChanged: true, resourcesListChanged: true } as const;

/** The notifications that a `subscriptions/listen` asks for. */
const wantedOf = ({ params: { notifications } }: Message): Message["params"] =>
  typeof notifications === "object" && notifications !== null
    ? notifications as Message["params"]
    : {};

/** True for a failure that passes, of a request that had no effect or may have it twice. */
const mayRepeat = (message: Message, { code, status, details }: RelayError): boolean =>
  (code === "UNREACHED" || AWAY.includes(status)) &&
  (details.sent === false || isRepeatable(message));

const lost = () =>
  new RelayError("The relay ended the connection before its answer.", {
    status: 0,
    code: "UNREACHED",
    path: "POST /mcp",
  });
