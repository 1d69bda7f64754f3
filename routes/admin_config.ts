import { z } from "zod";
import { reloadConfig, showConfig } from "../core/host/host.ts";
import { HOST_WRITES, route } from "./call/route.ts";
import { Timestamp } from "./schemas/schemas.ts";

const Value = z.unknown().meta({ description: "Secrets are masked; null is unlimited or unset." });

export const adminConfigRoutes = [
  route({
    id: "config.get",
    method: "GET",
    path: "/api/admin/config",
    summary: "The configuration in force, and where each value comes from",
    description: "The host organization sees everything, another organization its own limits. " +
      "`changes_by` tells whether a value changes by a reload, only by a restart, or by the host.",
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    success: {
      status: 200,
      body: z.object({
        values: z.array(z.object({
          path: z.string(),
          value: Value,
          source: z.enum(["default", "file", "environment", "plan", "override", "configuration"]),
          changes_by: z.enum(["reload", "restart", "host"]),
        })),
        loaded_at: Timestamp,
      }).meta({ id: "Configuration" }),
    },
    faults: [],
    handle: (work, _, parts) => showConfig(work, parts),
  }),
  route({
    id: "config.reload",
    method: "POST",
    path: "/api/admin/config/reload",
    summary: "Read RELAY_CONFIG again and put it in force",
    description:
      "Whole or not at all: an invalid one is refused with the path of each fault, and " +
      "the old one stays. It is in force for the next request. Each instance reads its own.",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "steps",
    audit: { byRule: "config_reloaded, with what is different" },
    body: z.strictObject({}),
    success: {
      status: 200,
      body: z.object({
        changes: z.array(z.object({
          path: z.string(),
          change: z.enum(["added", "changed", "removed"]),
          before: Value,
          after: Value,
          in_force: z.enum(["now"]),
        })),
        loaded_at: Timestamp,
      }),
    },
    faults: [],
    handle: (work, _, { configuration }) => reloadConfig(work, configuration),
  }),
];
