import { Registry } from "prom-client";
import type { Family } from "./family.ts";

/** Families of figures in Prometheus' text format. */
export async function exposition(
  families: readonly Family[],
): Promise<{ type: string; body: string }> {
  const registry = new Registry();
  for (const family of families) {
    // The library renders whatever has the shape of a metric; its own metrics cost more to count with.
    registry.registerMetric({ name: family.name, get: () => family } as never);
  }
  return { type: registry.contentType, body: await registry.metrics() };
}
