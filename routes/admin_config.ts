import { z } from "zod";
import { reloadConfig, showConfig } from "../core/host/host.ts";
import { HOST_WRITES, route } from "./call/route.ts";
import { Timestamp } from "./schemas/schemas.ts";

const Value = z.unknown().meta({
  description: "Secrets are masked; null means unlimited or unset.",
});

export const adminConfigRoutes = [
  route({
    id: "config.get",
    method: "GET",
    path: "/api/admin/config",
    summary: "Get the configuration in force",
    description:
      "Also says where each value comes from. The host organization sees everything; any other " +
      "organization sees its own limits. `changes_by` says whether a value changes by a " +
      "reload, only by a restart, or by the host.",
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
    summary: "Reload the configuration",
    description:
      "Reads RELAY_CONFIG again. An invalid configuration is refused with the path of each fault, and the " +
      "old one stays in force. A valid one takes effect with the next request. Each instance reads its own.",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "steps",
    audit: { byRule: "config_reloaded, with the changes" },
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
