import {
  type Context,
  ROOT_CONTEXT,
  type Span as RuntimeSpan,
  SpanKind,
  SpanStatusCode,
  trace as traces,
} from "@opentelemetry/api";
import {
  type Span,
  type SpanAttributes,
  type SpanName,
  SPANS,
  type Trace,
  type Tracing,
} from "../../kv/store/trace.ts";

const SAMPLED = 1;
const TRACEPARENT = /^[0-9a-f]{2}-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-01$/;
const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
} as const;
const tracer = traces.getTracer("relay");

/** Traces through the runtime's own OpenTelemetry, which samples and exports them. */
export function runtimeTracing(): Tracing {
  hideQueries(tracer.startSpan("never ended", { root: true }));
  return {
    request(method, route, requestId) {
      const span = traces.getActiveSpan();
      if (span === undefined || (span.spanContext().traceFlags & SAMPLED) === 0) return null;
      span.updateName(`${method} ${route}`);
      const request = opened<"request">(span);
      request.set({ "http.route": route, "relay.request_id": requestId });
      return request;
    },
    resume(traceparent) {
      const ids = TRACEPARENT.exec(traceparent ?? "")?.groups;
      if (ids === undefined) return null;
      const { traceId, spanId } = ids as { traceId: string; spanId: string };
      return placeOf(traces.wrapSpanContext({ traceId, spanId, traceFlags: SAMPLED }));
    },
    start: (name, attributes) => start(ROOT_CONTEXT, name, attributes),
  };
}

function start<Name extends SpanName>(
  parent: Context,
  name: Name,
  attributes: SpanAttributes<Name> = {},
): Span<Name> {
  const span = opened<Name>(tracer.startSpan(name, { kind: KINDS[SPANS[name].kind] }, parent));
  span.set(attributes);
  return span;
}

function placeOf(span: RuntimeSpan): Trace {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const context = traces.setSpan(ROOT_CONTEXT, span);
  return {
    traceId,
    spanId,
    carried: { traceparent: `00-${traceId}-${spanId}-0${traceFlags & SAMPLED}` },
    child: (name, attributes) => start(context, name, attributes),
  };
}

function opened<Name extends SpanName>(span: RuntimeSpan): Span<Name> {
  const set = (attributes: SpanAttributes<Name>) => {
    for (const [key, value] of Object.entries(attributes as Record<string, string | number>)) {
      span.setAttribute(key, value);
      if (key === "error.type") span.setStatus({ code: SpanStatusCode.ERROR });
    }
  };
  const end = (attributes: SpanAttributes<Name> = {}) => {
    set(attributes);
    span.end();
  };
  return {
    ...placeOf(span),
    set,
    end,
    endWith(work, describe) {
      if (!(work instanceof Promise)) return end(describe?.(work as Awaited<typeof work>));
      work.then(
        (result) => end(describe?.(result)),
        (error) => end({ "error.type": errorType(error) } as SpanAttributes<Name>),
      );
    },
  };
}

/** The code of a fault, or the class of another error: their messages may quote what a caller sent. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return "Error";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/**
 * The runtime notes the whole address of a request in its span, and a query may hold a token or a command. A value
 * set again is added, not replaced, so the query is left out where the runtime sets it.
 */
function hideQueries(span: RuntimeSpan): void {
  const prototype: RuntimeSpan = Object.getPrototypeOf(span);
  const { setAttribute } = prototype;
  prototype.setAttribute = function (key, value) {
    if (key === "url.query") return this;
    const shown = key === "url.full" ? String(value).split("?", 1)[0]! : value;
    return setAttribute.call(this, key, shown);
  };
}
