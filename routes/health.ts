import { z } from "zod";
import type { Actor } from "../core/identity/identity.ts";
import { health } from "../core/host/host.ts";
import { route } from "./call/route.ts";
import { Timestamp } from "./schemas/schemas.ts";

const Health = z.object({
  status: z.enum(["ok", "degraded"]),
  components: z.record(z.string(), z.enum(["ok", "down"])),
  version: z.string().optional(),
  uptime_seconds: z.int().optional(),
  store_round_trip_ms: z.number().optional(),
  jobs_due: z.int().optional(),
  agents_linked: z.int().optional(),
  commands_under_way: z.int().optional(),
  last_backup_at: Timestamp.nullable().optional().meta({
    description: "When the newest complete backup by `relay backup` was taken, and null without " +
      "one. Absent for a store that it does not copy: a database server, or one in memory.",
  }),
  last_backup_error: z.string().nullable().optional().meta({
    description:
      "Why the last scheduled backup of this process failed, and null when it did not. " +
      "Absent like `last_backup_at`.",
  }),
}).meta({ id: "Health" });

/** True for an actor who may see the figures, which cover the live space of all organizations. */
const seesFigures = ({ host, rights, tenant }: Actor): boolean =>
  host && rights.has("system:read") && tenant.space === "live";

export const healthRoutes = [
  route({
    id: "health.live",
    method: "GET",
    path: "/healthz",
    summary: "Check liveness",
    access: { public: "load balancers and supervisors ask without credentials" },
    unlimited: true,
    ignoresUnknownQuery: true,
    effect: "read",
    success: { status: 200, body: z.object({ status: z.literal("ok") }) },
    faults: [],
    tool: { name: "get_health", destructive: false },
    handle: () => ({ status: "ok" as const }),
  }),
  route({
    id: "health.detail",
    method: "GET",
    path: "/health",
    summary: "Get the system's health",
    description:
      "Everyone sees the statuses. A live credential with system:read in the organization that " +
      "runs the installation also sees figures. An invalid credential is ignored.",
    access: { public: "statuses reveal no data", credential: "optional" },
    unlimited: true,
    ignoresUnknownQuery: true,
    effect: "read",
    success: { status: 200, body: Health },
    faults: [],
    handle: (work, _, parts) => health(work, parts, seesFigures(work.actor)),
  }),
  route({
    id: "health.metrics",
    method: "GET",
    path: "/metrics",
    summary: "Get metrics in the Prometheus text format",
    access: { scope: "system:read", host: true },
    liveOnly: true,
    ignoresUnknownQuery: true,
    effect: "read",
    success: { status: 200, content: ["text/plain; version=0.0.4; charset=utf-8"] },
    faults: [],
    handle: (_work, _, { metrics }) => metrics.text(),
  }),
];
