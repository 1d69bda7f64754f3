import { z } from "zod";
import { dashboardStats } from "../core/host/host.ts";
import { route } from "./call/route.ts";
import { Timestamp } from "./schemas/schemas.ts";

const Counts = z.record(z.string(), z.int());

const Figures = z.object({
  requests: z.int(),
  client_errors: z.int().meta({ description: "Answers with 4xx." }),
  server_errors: z.int().meta({ description: "Answers with 5xx." }),
  commands: Counts.meta({ description: "By outcome: succeeded, failed, denied, timed_out, …" }),
  deliveries: Counts.meta({ description: "Webhook attempts by result." }),
  denials: Counts.meta({ description: "Denied commands by the rule that denied them." }),
  approvals_decided: z.int().meta({ description: "Approved or rejected by people." }),
  median_wait_seconds: z.int().nullable().meta({
    description: "How long these waited: at most a fifth too high; null of none.",
  }),
}).meta({ id: "ActivityFigures" });
const Row = Figures.extend({ start: Timestamp }).meta({ id: "ActivityRow" });

export const adminDashboardRoutes = [
  route({
    id: "dashboard.stats",
    method: "GET",
    path: "/api/admin/dashboard-stats",
    summary: "What happens: agents, commands, approvals, deliveries, denials and requests",
    description: "By hour for 24 hours and by day for 30 days, UTC, each with the current one. " +
      "The host organization sees the whole installation, another organization itself. Only the " +
      "live space is counted.",
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    success: {
      status: 200,
      body: z.object({
        scope: z.enum(["installation", "organization"]),
        generated_at: Timestamp,
        agents: z.object({
          online: z.int(),
          degraded: z.int(),
          offline: z.int(),
          total: z.int(),
        }),
        approvals_waiting: z.int(),
        last_24_hours: Figures,
        last_30_days: Figures,
        by_hour: z.array(Row),
        by_day: z.array(Row),
      }).meta({ id: "DashboardStats" }),
    },
    faults: [],
    handle: (work, _, { activity }) => dashboardStats(work, activity),
  }),
];
