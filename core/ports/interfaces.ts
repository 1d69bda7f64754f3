import type { Clock } from "../../kv/store/clock.ts";
import type { Tracing } from "../../kv/store/trace.ts";
import type { Cost } from "./password_hash.ts";

export type { Cancel, Clock } from "../../kv/store/clock.ts";

/**
 * The source of randomness. All code above the ports depends only on them and on the store, so a test that
 * moves the clock runs a day of grace period in a millisecond.
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
  /** Connections are not shared between organizations; null for the relay's own requests. */
  readonly organization: string | null;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** True when the receiver may get the request twice. */
  readonly repeatable?: boolean;
  /** One deadline for lookup, connection, TLS, writing and the response head; it also truncates the body. */
  readonly deadlineMs: number;
  /** How much of the response body to read and keep. */
  readonly keepBytes: number;
}

/** How long each phase of a request took, in ms. Null for one that was not reached, or not needed by a kept connection. */
export interface Timing {
  readonly resolve: number | null;
  readonly connect: number | null;
  readonly tls: number | null;
  /** From the request to the first byte of the response. */
  readonly first_byte: number | null;
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** At most `keepBytes`, not decompressed. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same, decoded as UTF-8. */
  readonly body: string;
  /** True when the body is incomplete: larger than `keepBytes`, cut by the deadline, or interrupted. */
  readonly truncated: boolean;
  readonly timing: Timing;
}

export type OutboundErrorKind = "refused_address" | "dns" | "connect" | "tls" | "timeout" | "http";

/** Raised when a request failed before its response head arrived. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  /** Of a request that reached its phases. */
  timing: Timing | null = null;
  constructor(readonly kind: OutboundErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** The only way to the network: resolves, checks and pins the address; follows no redirect. */
export interface Outbound {
  /** @throws {OutboundError} */
  request(request: OutboundRequest): Promise<OutboundResponse>;
  /**
   * Checks that a URL may be dialled: its spelling, and where its name leads. A name that cannot be resolved within a
   * short time passes, because every dial checks again.
   * @throws {OutboundError} `http` or `refused_address`
   */
  check(url: string, organization: string | null): Promise<void>;
  close(): void;
}

/** The program log. Writing to it never throws. */
export interface Log {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The program of an agent, as a file. */
export interface AgentProgram {
  /** SHA-256, hex. */
  readonly sha256: string;
  readonly bytes: number;
  /** @throws {Error} when the file has changed or cannot be read */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** The programs that the relay's operator provides for agents. */
export interface AgentPrograms {
  /** The program of a version, for a platform or `any`; null when there is none. */
  find(version: string, platform: string): Promise<AgentProgram | null>;
}

/** Backups of the embedded store, written outside this process: a copy takes the processor and the disk for seconds. */
export interface StoreBackups {
  /**
   * Adds a backup to a folder, and removes older ones of the store.
   * @throws {Error} that says why there is none, or why older ones were not removed
   */
  add(folder: string, keepMs: number, signal: AbortSignal): Promise<void>;
}

export interface Ports {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly outbound: Outbound;
  readonly log: Log;
  /** The cost of hashing new passwords. */
  readonly passwordCost: Cost;
  readonly programs: AgentPrograms;
  readonly storeBackups: StoreBackups;
  /** Null unless the operator turned traces on. */
  readonly tracing: Tracing | null;
}
