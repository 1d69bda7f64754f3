import type { Clock } from "../../kv/store/clock.ts";
import type { Cost } from "./password_hash.ts";

export type { Cancel, Clock } from "../../kv/store/clock.ts";

/**
 * The doors out of the process. Everything else in core/ is a function of these and of the store,
 * so a test that moves the clock by hand runs a day of grace period in a millisecond.
 */
export interface Entropy {
  /** A random UUID, version 4. */
  uuid(): string;
  /** `n` unguessable bytes. */
  bytes(n: number): Uint8Array<ArrayBuffer>;
  /** An unguessable id that sorts by its time of creation, such as `agt_0m3x…`. */
  id(prefix: string): string;
  /** Uniform in [0, 1). For jitter only, never for secrets. */
  unit(): number;
}

/** One request to the outside world. */
export interface OutboundRequest {
  /** Whose request it is: nobody uses another's connections, or waits for them; null for the relay's own. */
  readonly organization: string | null;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** True when whoever gets it twice takes it for one. */
  readonly repeatable?: boolean;
  /** One deadline over look-up, connection, TLS, writing and the head; the body is cut by it too. */
  readonly deadlineMs: number;
  /** How much of the response body to keep; what lies beyond is never read. */
  readonly keepBytes: number;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** At most `keepBytes`, as they came: compressed bodies stay compressed. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same, decoded as UTF-8. */
  readonly body: string;
  /** True when the body is incomplete: larger than `keepBytes`, cut by the deadline, or broken off. */
  readonly truncated: boolean;
}

export type OutboundErrorKind = "refused_address" | "dns" | "connect" | "tls" | "timeout" | "http";

/** A request that got no response head. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  constructor(readonly kind: OutboundErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** The only way out to the network: resolves, checks and pins the address, follows no redirect. */
export interface Outbound {
  /** @throws {OutboundError} */
  request(request: OutboundRequest): Promise<OutboundResponse>;
  close(): void;
}

/** Where the program tells what it does; telling never fails. */
export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface Ports {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly outbound: Outbound;
  readonly log: Log;
  /** What hashing a password costs. */
  readonly passwordCost: Cost;
}
