/** A value of an attribute, as OTLP writes it in JSON. */
type Value = { readonly stringValue?: string; readonly doubleValue?: number };

interface Exported {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly attributes: readonly { readonly key: string; readonly value: Value }[];
  readonly status: { readonly code?: number };
}

/** A span that a process exported. */
export interface Received extends Omit<Exported, "attributes" | "status"> {
  /** The name of the process. */
  readonly service: string;
  /** `relay`, or `deno` for what the runtime starts itself. */
  readonly scope: string;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Upload {
  readonly resourceSpans?: readonly {
    readonly resource: Pick<Exported, "attributes">;
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly Exported[];
    }[];
  }[];
}

/** A receiver of OTLP over HTTP in JSON, and the variables that make a process export to it. */
export class Collector implements AsyncDisposable {
  readonly spans: Received[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    const listen = { hostname: "127.0.0.1", port: 0, onListen() {} };
    this.#server = Deno.serve(listen, async (request) => {
      this.#take(await request.json());
      return Response.json({});
    });
  }

  environment(service: string): Record<string, string> {
    return {
      OTEL_DENO: "true",
      OTEL_SERVICE_NAME: service,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.#server.addr.port}`,
    };
  }

  #take({ resourceSpans = [] }: Upload): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = valuesOf(resource.attributes)["service.name"] ?? "";
      for (const { scope, spans } of scopeSpans) {
        for (const { attributes, status, ...span } of spans) {
          this.spans.push({
            ...span,
            service,
            scope: scope.name,
            failed: status.code === 2,
            attributes: valuesOf(attributes),
          });
        }
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

const valuesOf = (attributes: Exported["attributes"]): Record<string, string> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? String(value.doubleValue)]),
  );
