import type { z } from "zod";
import type { Accepted } from "../../core/work/accepted.ts";
import type { Relay } from "../../core/start.ts";
import type { Actor, Reading, RequestInfo, Stepping, Writing } from "../../core/work/work.ts";
import type { ResourceType } from "../../core/events/types/resources.ts";
import type { WithCookie } from "../../core/work/cookie.ts";
import type { DetailsOf, EventType } from "../../core/events/events.ts";
import type { FaultCode } from "../../core/fault/fault.ts";
import type { Scope } from "../../core/work/scopes.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Shape = z.ZodObject;
type Out<S> = S extends z.ZodType ? z.output<S> : undefined;

/** Who may call. There is no default: a route without `access` does not compile. */
export type Access =
  /** Nobody needs to say who they are; the text says why. Whoever does, may be told more. */
  | {
    readonly public: string;
    readonly credential?: "optional";
    /** A device's credential counts here, which elsewhere opens only the device's own link. */
    readonly devices?: true;
  }
  /** Any live credential; the rule decides the rest. */
  | {
    readonly signedIn: true;
    /** Without a credential, a cookie whose name begins so will do; the rule finds out whose it is. */
    readonly orCookie?: string;
  }
  /** One of these rights. */
  | { readonly scope: Scope | readonly Scope[]; readonly host?: true };

/** Who changes the installation. */
export const HOST_WRITES = { scope: "system:write", host: true } as const;

/**
 * What a route does to the store: reads it, changes it in one transaction that may be rerun, or runs
 * several commits of its own. Audit follows this, not the method.
 */
export type Effect = "read" | "write" | "steps";

/** What the audit trail says of a change. */
export type Audit<R, I> =
  | {
    [T in EventType]: {
      readonly event: T;
      readonly resource: ResourceType;
      readonly id: (result: R, input: I) => string;
      /** The agent that it concerns, where the resource is not the agent itself. */
      readonly agentId?: (result: R) => string | null;
      readonly details: (result: R, input: I, actor: Actor) => DetailsOf<T>;
    };
  }[EventType]
  /** The rule emits its events itself; the text names them. */
  | { readonly byRule: string }
  /** Nothing is changed that an auditor would ask for; the text says why. */
  | { readonly none: string };

/** A body that is not JSON. */
export interface Content {
  readonly type: string;
  readonly body: string | AsyncIterable<string | Uint8Array<ArrayBuffer>>;
  /** Offered to the browser as a file of this name. */
  readonly filename?: string;
  /** Further headers, their names in lower case; those of every response win. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a success looks like: a JSON body, nothing, or content of these media types. */
export type Success<R extends z.ZodType> =
  | { readonly status: 200 | 201 | 202; readonly body: R }
  /** `about` is what the rule answers for the audit trail; the caller gets no body. */
  | { readonly status: 204; readonly about: R }
  | {
    readonly status: 200;
    readonly content: readonly [string, ...string[]];
    /** The same object until the next version: it has an ETag, and whoever has it already gets 304. */
    readonly fixed?: true;
  };

/** A public route's caller, before the body is read. */
export interface Caller {
  readonly relay: Relay;
  readonly request: RequestInfo;
  readonly query: Readonly<Record<string, string>>;
}

/** Who may send a public route more than the 16 KiB that everybody may. */
export interface LargerBody {
  readonly bytesMax: number;
  /** What it takes, as the end of the refusal of a larger body. */
  readonly unless: string;
  /** Found out before more is read. */
  readonly mayCome: (caller: Caller) => boolean | Promise<boolean>;
  /** Found out from the bytes as they came, before they are parsed. */
  readonly proved?: (caller: Caller, bytes: Uint8Array) => Promise<boolean>;
}

type WorkOf<E extends Effect> = E extends "read" ? Reading : E extends "write" ? Writing : Stepping;

interface Input<P, Q, B> {
  readonly params: Out<P>;
  readonly query: Out<Q>;
  readonly body: Out<B>;
  /** The body as it came, for signatures over it; empty for what did not come over HTTP. */
  readonly bodyText: string;
  /** The Accept header, for routes that can answer in several media types. */
  readonly accept: string;
}

export interface RouteSpec<E extends Effect, P, Q, B, R extends z.ZodType> {
  /** Stable operation id, and the name of the MCP tool and of the generated tests. */
  readonly id: `${string}.${string}`;
  readonly method: Method;
  /** Path as in the interface, with `{name}` for parameters. */
  readonly path: `/${string}`;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  readonly effect: E;
  /** A public route that probes call: without a credential it is not limited. */
  readonly unlimited?: true;
  /** The answer must not be kept by any cache. */
  readonly noStore?: true;
  /** Closed to the test space: 403 for test keys and for users who chose it, before the rule runs. */
  readonly liveOnly?: true;
  /** The rule obeys the Idempotency-Key header. */
  readonly idempotencyKey?: true;
  readonly params?: P;
  /** The path parameter that names an agent: usage is counted for it. */
  readonly agent?: P extends Shape ? keyof z.output<P> & string : never;
  readonly query?: Q;
  /** Query parameters that the route does not know are ignored: its callers add some of their own. */
  readonly ignoresUnknownQuery?: true;
  readonly body?: B;
  /**
   * What is checked beyond the schemas: what must hold of each path that a refusal names, as the end of a
   * sentence that begins with the path.
   */
  readonly rules?: Readonly<Record<string, string>>;
  /** Largest body in bytes of a caller who is known; 1 MiB unless said. Others send 16 KiB at most. */
  readonly bodyBytesMax?: number;
  readonly largerBody?: LargerBody;
  readonly success: Success<R>;
  /** When the rule may answer 202 with the same body, by `Accepted`; the text says when. */
  readonly accepted?: string;
  /** Faults beyond those that every route may give. */
  readonly faults: readonly FaultCode[];
  /** Present when it is also an MCP tool. */
  readonly tool?: { readonly destructive: boolean };
  /** The rule. `relay` holds the parts that it needs beside its context. */
  readonly handle: (
    work: WorkOf<E>,
    input: Input<P, Q, B>,
    relay: Relay,
  ) => Answer<R> | Promise<Answer<R>>;
}

type Answer<R extends z.ZodType> =
  | z.input<R>
  | Accepted<z.input<R>>
  | WithCookie<z.input<R>>
  | Content;

type AuditOf<E extends Effect, P, Q, B, R> = E extends "read" ? { readonly audit?: never }
  : { readonly audit: Audit<z.input<R>, Input<P, Q, B>> };

/** A route with its generics erased, as mounting, OpenAPI, MCP and the generated tests see it. */
export interface Route {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  readonly effect: Effect;
  readonly unlimited?: true;
  readonly noStore?: true;
  readonly liveOnly?: true;
  readonly idempotencyKey?: true;
  readonly audit?: Audit<unknown, unknown>;
  readonly params?: Shape;
  readonly agent?: string;
  readonly query?: Shape;
  readonly ignoresUnknownQuery?: true;
  readonly body?: Shape;
  readonly rules?: Readonly<Record<string, string>>;
  readonly bodyBytesMax?: number;
  readonly largerBody?: LargerBody;
  readonly success: Success<z.ZodType>;
  readonly accepted?: string;
  readonly faults: readonly FaultCode[];
  readonly tool?: { readonly destructive: boolean };
  readonly handle: (work: never, input: never, relay: never) => unknown;
}

/** Declares an endpoint: the only way to have one. */
export function route<
  E extends Effect,
  R extends z.ZodType,
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Shape | undefined = undefined,
>(spec: RouteSpec<E, P, Q, B, R> & AuditOf<E, P, Q, B, R>): Route {
  return spec as unknown as Route;
}
