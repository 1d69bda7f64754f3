import type { Endpoint } from "./endpoint.ts";
import { isFields, type Message, notification, versionIn } from "./message.ts";

/** Requests whose effect a session keeps, and how a later one replaces an earlier one. */
const KEPT: Readonly<Record<string, (params: Message["params"]) => string>> = {
  "logging/setLevel": () => "level",
  "resources/subscribe": ({ uri }) => `uri ${uri}`,
};
/** The relay allows 100 subscriptions. */
const KEPT_MAX = 200;

/**
 * The session of a client of the revisions up to 2025-11-25. The relay ends sessions; a new one then gets what the
 * client had set in it.
 */
export class Session {
  #begin: Message | null = null;
  #id: string | null = null;
  #version = "";
  #renewal: Promise<void> | null = null;
  readonly #kept = new Map<string, Message>();

  constructor(private readonly endpoint: Endpoint, private readonly stop: AbortSignal) {}

  get isOpen(): boolean {
    return this.#id !== null;
  }

  /** The resources that the client subscribed to. */
  get uris(): unknown[] {
    return [...this.#kept.values()].map(({ params }) => params.uri).filter((uri) => uri);
  }

  /** The headers of a request that belongs to the session. */
  headersFor(message: Message): Record<string, string> {
    if (this.#id === null || message.method === "initialize" || versionIn(message) !== null) {
      return {};
    }
    return this.headers;
  }

  get headers(): Record<string, string> {
    return { "mcp-session-id": this.#id ?? "", "mcp-protocol-version": this.#version };
  }

  /** Notes what an answered request changed. */
  answered(request: Message, answer: Readonly<Record<string, unknown>>, id: string | null): void {
    const { result } = answer;
    if (!isFields(result)) return;
    const { method, params } = request;
    if (method === "initialize" && id !== null) {
      this.#begin = request;
      this.#open(id, result.protocolVersion);
      this.#kept.clear();
    } else if (method === "resources/unsubscribe") this.#kept.delete(`uri ${params.uri}`);
    else if (method !== null && Object.hasOwn(KEPT, method) && this.#kept.size < KEPT_MAX) {
      this.#kept.set(KEPT[method]!(params), request);
    }
  }

  #open(id: string, version: unknown): void {
    this.#id = id;
    this.#version = typeof version === "string" ? version : "";
  }

  /** Opens a new session in place of the one that ended; once for all requests that found it ended. */
  renew(ended: Readonly<Record<string, string>>): Promise<void> {
    if (ended["mcp-session-id"] !== this.#id) return Promise.resolve();
    return this.#renewal ??= this.#beginAgain().finally(() => this.#renewal = null);
  }

  async #beginAgain(): Promise<void> {
    if (this.#begin === null) return;
    let version: unknown;
    const { session } = await this.#send(this.#begin.text, {}, ({ result }) => {
      version = isFields(result) ? result.protocolVersion : undefined;
    });
    if (session === null) return;
    this.#open(session, version);
    const again = [
      notification("notifications/initialized"),
      ...[...this.#kept.values()].map(({ text }) => text),
    ];
    for (const text of again) await this.#send(text, this.headers);
  }

  #send(
    body: string,
    headers: Readonly<Record<string, string>>,
    took: (message: Readonly<Record<string, unknown>>) => void = () => {},
  ) {
    const receive = (message: Readonly<Record<string, unknown>>) => Promise.resolve(took(message));
    return this.endpoint.send({ method: "POST", headers, body, signal: this.stop, receive });
  }

  /** Ends it at the relay. */
  async end(signal: AbortSignal): Promise<void> {
    if (this.#id === null) return;
    const receive = () => Promise.resolve();
    await this.endpoint.send({ method: "DELETE", headers: this.headers, signal, receive });
  }
}
