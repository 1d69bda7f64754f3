import { z } from "zod";
import { dashboardStats } from "../core/host/host.ts";
import { route } from "./call/route.ts";
import { Timestamp } from "./schemas/schemas.ts";

const Counts = z.record(z.string(), z.int());

const Figures = z.object({
  requests: z.int(),
  client_errors: z.int().meta({ description: "Responses with a 4xx status." }),
  server_errors: z.int().meta({ description: "Responses with a 5xx status." }),
  commands: Counts.meta({
    description: "Commands by outcome: succeeded, failed, denied, timed_out, …",
  }),
  deliveries: Counts.meta({ description: "Webhook delivery attempts by result." }),
  denials: Counts.meta({ description: "Denied commands by the rule that denied them." }),
  approvals_decided: z.int().meta({
    description: "Approval requests that people approved or rejected.",
  }),
  median_wait_seconds: z.int().nullable().meta({
    description:
      "The median time to these decisions, in seconds, at most 20 % too high; null without " +
      "decisions.",
  }),
}).meta({ id: "ActivityFigures" });
const Row = Figures.extend({ start: Timestamp }).meta({ id: "ActivityRow" });

export const adminDashboardRoutes = [
  route({
    id: "dashboard.stats",
    method: "GET",
    path: "/api/admin/dashboard-stats",
    summary: "Get dashboard figures",
    description:
      "Counts agents, commands, approvals, deliveries, denials and requests: by hour for 24 " +
      "hours and by day for 30 days, in UTC, each including the current one. The host " +
      "organization sees the whole installation; any other organization sees its own figures. " +
      "Only the live space is counted.",
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
