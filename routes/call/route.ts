import type { z } from "zod";
import type { Reading, Stepping, Writing } from "../../core/work/work.ts";
import type { Accepted, WithCookie, WithSession } from "../../core/identity/identity.ts";
import type { Actor, Redirect, RequestInfo, Scope } from "../../core/identity/identity.ts";
import type { Relay } from "../../core/relay.ts";
import type { DetailsOf, EventType, ResourceType } from "../../core/events/events.ts";
import type { FaultCode } from "../../core/fault/fault.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Shape = z.ZodObject;
type Out<S> = S extends z.ZodType ? z.output<S> : undefined;

/** Who may call. There is no default: a route without `access` does not compile. */
export type Access =
  /** Anonymous callers may call; the text gives the reason. A known caller may get more. */
  | {
    readonly public: string;
    readonly credential?: "optional";
    /** A device's credential counts here. Elsewhere it opens only the device's own link. */
    readonly devices?: true;
    /** Only the relay's own pages may call it, because the answer sets a cookie. */
    readonly ownPages?: true;
  }
  /** Any live credential; the rule decides the rest. */
  | {
    readonly signedIn: true;
    /** A cookie whose name has this prefix may replace the credential; the rule checks it. */
    readonly orCookie?: string;
  }
  /** Any one of these rights. */
  | { readonly scope: Scope | readonly Scope[]; readonly host?: true };

/** The access of routes that change the installation. */
export const HOST_WRITES = { scope: "system:write", host: true } as const;

/**
 * A route's use of the store: it reads, or changes in one transaction that may be rerun, or makes several
 * commits. The audit rules depend on this, not on the method.
 */
export type Effect = "read" | "write" | "steps";

/** The audit event of a change. */
export type Audit<R, I> =
  | {
    [T in EventType]: {
      readonly event: T;
      readonly resource: ResourceType;
      readonly id: (result: R, input: I) => string;
      /** The agent concerned, where the resource is not the agent itself. */
      readonly agentId?: (result: R) => string | null;
      readonly details: (result: R, input: I, actor: Actor) => DetailsOf<T>;
    };
  }[EventType]
  /** The rule emits events itself; the text names them. */
  | { readonly byRule: string }
  /** The change is of no interest to an auditor; the text gives the reason. */
  | { readonly none: string };

/** A body that is not JSON. */
export interface Content {
  readonly type: string;
  readonly body: string | AsyncIterable<string | Uint8Array<ArrayBuffer>>;
  /** The browser saves it as a file of this name. */
  readonly filename?: string;
  /** More headers, with names in lower case. The headers of every response override them. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Server-sent events, from a route that answers JSON to clients that do not accept them. */
export class EventStream {
  constructor(readonly body: AsyncIterable<Uint8Array<ArrayBuffer>>) {}
}

/** The response of a success: a JSON body, no body, or content of these media types. */
export type Success<R extends z.ZodType> =
  | {
    readonly status: 200 | 201 | 202;
    readonly body: R;
    /** The media type of the `EventStream` that the rule may return instead. */
    readonly orStream?: "text/event-stream";
    /** Where the `Redirect` leads that the rule may return instead. */
    readonly orLocation?: string;
  }
  /** `about` is the schema of the rule's result, which only the audit trail sees. */
  | { readonly status: 204; readonly about: R }
  /** The rule returns a `Redirect`; the text says where to. */
  | { readonly status: 303; readonly location: string }
  | {
    readonly status: 200;
    readonly content: readonly [string, ...string[]];
    /** The same object in each call of one version: it gets an ETag, and 304 for a client that has it. */
    readonly fixed?: true;
  };

/** The anonymous caller of a public route, before the body is read. */
export interface Caller {
  readonly relay: Relay;
  readonly request: RequestInfo;
  readonly query: Readonly<Record<string, string>>;
}

/** The condition under which an anonymous caller may send more than 16 KiB. */
export interface LargerBody {
  readonly bytesMax: number;
  /** The condition, as the end of the refusal's sentence. */
  readonly unless: string;
  /** Checked before more than 16 KiB is read. */
  readonly maySend: (caller: Caller) => boolean | Promise<boolean>;
  /** Checked on the bytes of the body, before they are parsed. */
  readonly proved?: (caller: Caller, bytes: Uint8Array) => Promise<boolean>;
}

type WorkOf<E extends Effect> = E extends "read" ? Reading : E extends "write" ? Writing : Stepping;

type FieldOf<S> = S extends Shape ? keyof z.output<S> & string : never;

interface Input<P, Q, B> {
  readonly params: Out<P>;
  readonly query: Out<Q>;
  readonly body: Out<B>;
  /** The text of the body, which signatures cover; empty for other transports than HTTP. */
  readonly bodyText: string;
  /** The Accept header, for routes with several media types. */
  readonly accept: string;
}

/** A route as an MCP tool. */
export interface ToolSpec {
  /** A verb and what it acts on: `list_agents`. */
  readonly name: `${string}_${string}`;
  readonly destructive: boolean;
  /** True for a tool that most clients need. */
  readonly common?: true;
  /** What a model should know, where the route's description says too little or too much for one. */
  readonly description?: string;
}

export interface RouteSpec<E extends Effect, P, Q, B, R extends z.ZodType> {
  /** Stable operation id, which also names the generated tests. */
  readonly id: `${string}.${string}`;
  readonly method: Method;
  /** The path, with `{name}` for parameters. */
  readonly path: `/${string}`;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  readonly effect: E;
  /** For probes: no rate limit for anonymous callers. */
  readonly unlimited?: true;
  /** No cache may keep the response. */
  readonly noStore?: true;
  /** Closed to the test space: test keys, and users in that space, get 403. */
  readonly liveOnly?: true;
  /** The rule itself handles the idempotency key. */
  readonly idempotencyKey?: true;
  readonly params?: P;
  /**
   * The parameter or the field of the query or the body that names an agent by id or name. The rule gets the id. Usage
   * statistics count it, unless it is a filter in the query.
   */
  readonly agent?: FieldOf<P> | FieldOf<Q> | FieldOf<B>;
  readonly query?: Q;
  /** Unknown query parameters are ignored, because the callers add their own. */
  readonly ignoresUnknownQuery?: true;
  readonly body?: B;
  /**
   * Checks beyond the schemas, by the path that a refusal names. Each is the end of a sentence that begins with
   * the path.
   */
  readonly rules?: Readonly<Record<string, string>>;
  /** Largest body in bytes of a known caller; 1 MiB by default. Anonymous callers may send 16 KiB. */
  readonly bodyBytesMax?: number;
  readonly largerBody?: LargerBody;
  readonly success: Success<R>;
  /** Present when the rule may answer 202 by `Accepted`; the text says when. */
  readonly accepted?: string;
  /** Faults beyond those of every route. */
  readonly faults: readonly FaultCode[];
  /** Present when the route is also an MCP tool. */
  readonly tool?: ToolSpec;
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
  | WithSession<z.input<R>>
  | Redirect
  | Content
  | EventStream;

type AuditOf<E extends Effect, P, Q, B, R> = E extends "read" ? { readonly audit?: never }
  : { readonly audit: Audit<z.input<R>, Input<P, Q, B>> };

/** A route without its generics, for mounting, OpenAPI, MCP and the generated tests. */
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
  readonly tool?: ToolSpec;
  readonly handle: (work: never, input: never, relay: never) => unknown;
}

/** Declares an endpoint. There is no other way to have one. */
export function route<
  E extends Effect,
  R extends z.ZodType,
  P extends Shape | undefined = undefined,
  Q extends Shape | undefined = undefined,
  B extends Shape | undefined = undefined,
>(spec: RouteSpec<E, P, Q, B, R> & AuditOf<E, P, Q, B, R>): Route {
  return spec as unknown as Route;
}
