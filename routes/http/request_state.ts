import type { Context } from "@hono/hono";
import { ANONYMOUS, type LimitState, mustPass } from "../../core/access/access.ts";
import { accessRule, logAccess } from "../../core/host/host.ts";
import type { Relay } from "../../core/relay.ts";
import type { Actor } from "../../core/identity/identity.ts";
import type { Envelope } from "./answer.ts";
import { Fault } from "../../core/fault/fault.ts";
import { failed } from "./refusal.ts";
import { type Env, HttpRequestInfo, methodOf } from "./request.ts";

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

  /** `route` is the pattern of its path. */
  constructor(
    private readonly relay: Relay,
    private readonly c: Context<Env>,
    readonly route: string,
  ) {
    this.info = new HttpRequestInfo(relay, c, route);
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
    const { id: requestId, trace } = this.info;
    return { requestId, limit: this.limit, noStore, key: this.actor.key, trace };
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

  /** Counts the response in metrics and statistics, and notes it in the access log. */
  count(place: string, { status }: Response): void {
    const { relay, actor, info } = this;
    const tookMs = performance.now() - this.#startedMs;
    if (status === 429) relay.metrics.limited(this.#refusedBy ?? this.limit!.claim.kind.scope);
    relay.metrics.request(place, status, tookMs);
    relay.activity.request(actor.tenant, status);
    const rule = accessRule(relay);
    if (rule !== null) {
      const [method, route] = [methodOf(this.c), this.route];
      logAccess(relay.ports, rule, { method, route, status, tookMs, actor, request: info });
    }
    if (info.trace === null || actor === ANONYMOUS) return;
    info.trace.set({ "relay.organization_id": actor.tenant.org, "relay.actor_id": actor.id });
  }
}
