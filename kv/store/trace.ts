/** One kind of span. */
interface SpanRow {
  /** As OpenTelemetry names it. */
  readonly kind: "internal" | "server" | "client";
  /** The names of its attributes; those outside `relay.` are of OpenTelemetry's conventions. */
  readonly attributes: readonly string[];
}

/**
 * Every span, with its attributes. Each may also have `error.type`, the code of what it failed by. docs/telemetry.md
 * says what they mean.
 */
export const SPANS = {
  /** The runtime starts it; Relay names it by the route. */
  request: {
    kind: "server",
    attributes: ["http.route", "relay.request_id", "relay.organization_id", "relay.actor_id"],
  },
  authenticate: { kind: "internal", attributes: [] },
  shield: { kind: "internal", attributes: ["relay.verdict", "relay.risk_score"] },
  commit: { kind: "internal", attributes: [] },
  "agent round trip": {
    kind: "client",
    attributes: ["relay.agent_id", "relay.command_id", "relay.command_status"],
  },
  /** The agent's own. */
  "run command": { kind: "server", attributes: ["relay.command_id"] },
  "webhook attempt": {
    kind: "client",
    attributes: [
      "relay.webhook_id",
      "relay.delivery_id",
      "relay.attempt",
      "http.response.status_code",
    ],
  },
  "git sync": { kind: "client", attributes: ["relay.repository_id"] },
  "mcp tool": { kind: "internal", attributes: ["gen_ai.tool.name"] },
} as const satisfies Readonly<Record<string, SpanRow>>;

export type SpanName = keyof typeof SPANS;

/** The attributes of a span. They hold ids and outcomes, never what a caller typed. */
export type SpanAttributes<Name extends SpanName> = {
  readonly [Key in (typeof SPANS)[Name]["attributes"][number] | "error.type"]?: string | number;
};

/** What joins a record with a trace, in lower-case hex. */
export interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** A place in a sampled trace, below which spans start. What is not sampled has none. */
export interface Trace extends TraceIds {
  /** The header of W3C Trace Context that continues the trace elsewhere, for records and frames to spread. */
  readonly carried: { readonly traceparent: string };
  child<Name extends SpanName>(name: Name, attributes?: SpanAttributes<Name>): Span<Name>;
}

/** A span that has not ended. */
export interface Span<Name extends SpanName> extends Trace {
  set(attributes: SpanAttributes<Name>): void;
  end(attributes?: SpanAttributes<Name>): void;
  /** Ends it with a promise; at once for any other value. */
  endWith<R>(work: R, describe?: (result: Awaited<R>) => SpanAttributes<Name>): void;
}

/**
 * Traces, as the store and every rule see them. A trace is passed on by hand, since the runtime's own context also
 * reaches loops and sockets that outlive the request in which they began.
 */
export interface Tracing {
  /** The span of the HTTP request that is being answered, named by its route. */
  request(method: string, route: string, requestId: string): Span<"request"> | null;
  /** The trace that a stored or received `traceparent` names. */
  resume(traceparent: string | undefined): Trace | null;
  /** Starts a trace that no request began. */
  start<Name extends SpanName>(name: Name, attributes?: SpanAttributes<Name>): Span<Name>;
}
