import type { Tracing } from "../../kv/store/trace.ts";

/** Traces through the runtime's OpenTelemetry. Null, and nothing is loaded, unless the environment turns it on. */
export async function openTracing(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Tracing | null> {
  if (!/^(1|true)$/i.test(env.OTEL_DENO ?? "")) return null;
  const { runtimeTracing } = await import("./runtime_tracing.ts");
  return runtimeTracing();
}
