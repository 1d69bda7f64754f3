import type { Span, SpanAttributes, SpanName, Trace, Tracing } from "../../kv/store/trace.ts";

/** A span that was started; `attributes` are those at its end, null before. */
export interface Recorded {
  readonly name: string;
  readonly traceId: string;
  /** The span above it; null for the first of a trace. */
  readonly parent: string | null;
  attributes: Readonly<Record<string, string | number | undefined>> | null;
}

/** Traces of a relay in memory: every request begins one. */
export class RecordedTracing implements Tracing {
  readonly spans: Recorded[] = [];
  #ids = 0;

  request(method: string, route: string, requestId: string): Span<"request"> {
    const about = { "http.route": route, "relay.request_id": requestId };
    return this.#open(this.#hex(32), null, `${method} ${route}`, about);
  }

  resume(traceparent: string | undefined): Trace | null {
    const [, traceId, spanId] = traceparent?.split("-") ?? [];
    return traceId === undefined ? null : this.#place(traceId, spanId!);
  }

  start<Name extends SpanName>(name: Name, attributes: SpanAttributes<Name> = {}): Span<Name> {
    return this.#open(this.#hex(32), null, name, attributes);
  }

  /** The spans of a trace, by name. */
  of(traceId: string | undefined): Recorded[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  #place(traceId: string, spanId: string): Trace {
    return {
      traceId,
      spanId,
      carried: { traceparent: `00-${traceId}-${spanId}-01` },
      child: (name, attributes = {}) => this.#open(traceId, spanId, name, attributes),
    };
  }

  #open<Name extends SpanName>(
    traceId: string,
    parent: string | null,
    name: string,
    attributes: SpanAttributes<Name>,
  ): Span<Name> {
    const span: Recorded = { name, traceId, parent, attributes: null };
    this.spans.push(span);
    let all = attributes;
    const set = (more: SpanAttributes<Name>) => void (all = { ...all, ...more });
    const end = (more: SpanAttributes<Name> = {}) => {
      set(more);
      span.attributes = all;
    };
    return {
      ...this.#place(traceId, this.#hex(16)),
      set,
      end,
      endWith: (work, describe) =>
        void Promise.resolve(work).then((result) => end(describe?.(result)), () => end()),
    };
  }

  #hex(digits: number): string {
    return (++this.#ids).toString(16).padStart(digits, "0");
  }
}
