import type { Context } from "@hono/hono";
import { ANONYMOUS, type LimitState, mustPass } from "../../core/access/access.ts";
import type { Relay } from "../../core/relay.ts";
import type { Actor } from "../../core/identity/identity.ts";
import type { Envelope } from "./answer.ts";
import { Fault } from "../../core/fault/fault.ts";
import { failed } from "./refusal.ts";
import { type Env, HttpRequestInfo } from "./request.ts";

/** A request in progress: the caller, the limit and the connection, which every response to it needs. */
export class RequestState {
  readonly info: HttpRequestInfo;
  readonly raw: Request;
  readonly headers: Headers;
  actor: Actor = ANONYMOUS;
  /** The limit that the response shows; null until one was checked. */
  limit: LimitState | null = null;
  readonly #startedMs = performance.now();
  /** The limit that a rule refused the request by. */
  #refusedBy: string | null = null;
  /** True while this request holds a connection, which `release` gives back. */
  #holds = false;

  constructor(private readonly relay: Relay, c: Context<Env>) {
    this.info = new HttpRequestInfo(relay, c);
    this.raw = c.req.raw;
    this.headers = this.raw.headers;
  }

  /** Notes a limit that the request met on its way. */
  readonly limited = (limit: LimitState): void => {
    this.limit = limit;
  };

  /** Takes the request, and a connection, from the limits of a known caller. */
  async admit(call: "rest" | "mcp"): Promise<void> {
    const { limiter } = this.relay;
    // Devices must not use up the limits of the organization's users and keys.
    const admission = this.actor.kind === "device"
      ? limiter.takeForAgent(this.actor.id, "itself")
      : limiter.admit(this.actor, call);
    this.limit = admission instanceof Promise ? await admission : admission;
    this.#holds = this.limit.admitted;
  }

  /** Takes the request from the limit of the client's address. */
  async takeForAddress(): Promise<void> {
    this.limit = await this.relay.limiter.takeForAddress(this.info.address);
  }

  /** @throws {Fault} RATE_LIMIT_EXCEEDED */
  mustPass(): void {
    if (this.limit !== null) mustPass(this.limit, this.relay.ports.clock.now());
  }

  envelope(noStore?: true): Envelope {
    this.limit ??= this.relay.limiter.unlimited();
    return { requestId: this.info.id, limit: this.limit, noStore, key: this.actor.key };
  }

  /** Leaves the connection to the response's stream; the caller of this must call `leave` at its end. */
  keepForStream(): void {
    this.#holds = false;
  }

  /** Gives the connection of the stream back. */
  readonly leave = (): void => this.relay.limiter.leave(this.actor);

  /** Gives the connection back unless a stream keeps it. */
  release(): void {
    if (this.#holds) this.leave();
    this.#holds = false;
  }

  get holdsConnection(): boolean {
    return this.#holds;
  }

  /** The response to an error. `place` names the route or the path in the log. */
  failed(error: unknown, place: string, noStore?: true): Response {
    if (error instanceof Fault && error.code === "RATE_LIMIT_EXCEEDED") {
      this.#refusedBy = String(error.details.scope);
    }
    return failed(this.relay.ports.log, error, this.envelope(noStore), place);
  }

  /** Counts the response in metrics and statistics. */
  count(place: string, { status }: Response): void {
    if (status === 429) this.relay.metrics.limited(this.#refusedBy ?? this.limit!.claim.kind.scope);
    this.relay.metrics.request(place, status, performance.now() - this.#startedMs);
    this.relay.activity.request(this.actor.tenant, status);
  }
}
