import type { ComponentType } from "preact";
import type { ScreenProps } from "./router.ts";
import type { Needs } from "./session.ts";

/** A screen of the console. Its code is loaded when it is opened first. */
export interface Screen extends Needs {
  /** Its address below /console; `:name` is a part that the screen gets. */
  readonly path: string;
  readonly title: string;
  readonly load: () => Promise<{ readonly default: ComponentType<ScreenProps> }>;
  /** What it shows belongs to both spaces, and is shown in the live one. */
  readonly liveOnly?: true;
  /** Where the navigation shows it; screens without a group are reached from others. */
  readonly group?: "Work" | "Safety" | "Connections" | "Organization";
  /** Shown to people without a session too. */
  readonly public?: true;
}

/** All screens, in the order of the navigation. */
export const SCREENS: readonly Screen[] = [
  {
    path: "/",
    title: "Overview",
    group: "Work",
    load: () => import("./screens/work/overview.ts"),
  },
  {
    path: "/run",
    title: "Run",
    group: "Work",
    needs: ["agents:write"],
    load: () => import("./screens/work/run.ts"),
  },
  {
    path: "/agents",
    title: "Agents",
    group: "Work",
    needs: ["agents:read"],
    load: () => import("./screens/work/agents.ts"),
  },
  {
    path: "/agents/add",
    title: "Add a machine",
    needs: ["agents:admin"],
    load: () => import("./screens/work/agent_add.ts"),
  },
  {
    path: "/agents/:id",
    title: "Agent",
    needs: ["agents:read"],
    load: () => import("./screens/work/agent.ts"),
  },
  {
    path: "/commands",
    title: "Commands",
    group: "Work",
    needs: ["agents:read"],
    load: () => import("./screens/work/commands.ts"),
  },
  {
    path: "/commands/:id",
    title: "Command",
    needs: ["agents:read"],
    load: () => import("./screens/work/command.ts"),
  },
  {
    path: "/fleet/:id",
    title: "Fleet command",
    needs: ["agents:read"],
    load: () => import("./screens/work/fleet_command.ts"),
  },
  {
    path: "/approvals",
    title: "Approvals",
    group: "Work",
    needs: ["approvals:read"],
    load: () => import("./screens/work/approvals.ts"),
  },
  {
    path: "/approvals/:id",
    title: "Approval",
    needs: ["approvals:read"],
    load: () => import("./screens/work/approval.ts"),
  },
  {
    path: "/policies",
    title: "Policies",
    group: "Safety",
    needs: ["policy:read"],
    load: () => import("./screens/safety/policies.ts"),
  },
  {
    path: "/policies/:id",
    title: "Policy",
    needs: ["policy:read"],
    load: () => import("./screens/safety/policy.ts"),
  },
  {
    path: "/playground",
    title: "Playground",
    group: "Safety",
    needs: ["policy:read"],
    load: () => import("./screens/safety/playground.ts"),
  },
  {
    path: "/alerts",
    title: "Alerts",
    group: "Safety",
    needs: ["system:read"],
    load: () => import("./screens/safety/alerts.ts"),
  },
  {
    path: "/alerts/:id",
    title: "Alert",
    needs: ["system:read"],
    load: () => import("./screens/safety/alert.ts"),
  },
  {
    path: "/audit",
    title: "Audit",
    group: "Safety",
    needs: ["audit:read", "system:read"],
    load: () => import("./screens/safety/audit.ts"),
  },
  {
    path: "/audit/:id",
    title: "Audit row",
    needs: ["audit:read", "system:read"],
    load: () => import("./screens/safety/audit_row.ts"),
  },
  {
    path: "/compliance",
    title: "Compliance",
    group: "Safety",
    needs: ["compliance:read", "system:read"],
    load: () => import("./screens/safety/compliance.ts"),
  },
  {
    path: "/compliance/:id",
    title: "Report",
    needs: ["compliance:read", "system:read"],
    load: () => import("./screens/safety/report.ts"),
  },
  {
    path: "/webhooks",
    title: "Webhooks",
    group: "Connections",
    needs: ["system:read"],
    load: () => import("./screens/connections/webhooks.ts"),
  },
  {
    path: "/webhooks/:id",
    title: "Webhook",
    needs: ["system:read"],
    load: () => import("./screens/connections/webhook.ts"),
  },
  {
    path: "/webhooks/:id/deliveries/:delivery",
    title: "Delivery",
    needs: ["system:read"],
    load: () => import("./screens/connections/delivery.ts"),
  },
  {
    path: "/keys",
    title: "API keys",
    group: "Connections",
    load: () => import("./screens/connections/keys.ts"),
  },
  {
    path: "/keys/:id",
    title: "API key",
    load: () => import("./screens/connections/key.ts"),
  },
  {
    path: "/devices",
    title: "Devices",
    group: "Connections",
    needs: ["agents:read"],
    load: () => import("./screens/connections/devices.ts"),
  },
  {
    path: "/integrations",
    title: "Integrations",
    group: "Connections",
    needs: ["system:read"],
    liveOnly: true,
    load: () => import("./screens/connections/integrations.ts"),
  },
  {
    path: "/people",
    title: "People and roles",
    group: "Organization",
    needs: ["system:read"],
    liveOnly: true,
    load: () => import("./screens/organization/people.ts"),
  },
  {
    path: "/settings",
    title: "Settings",
    group: "Organization",
    liveOnly: true,
    load: () => import("./screens/organization/settings.ts"),
  },
  {
    path: "/host",
    title: "Host",
    group: "Organization",
    needs: ["system:read"],
    hostOnly: true,
    liveOnly: true,
    load: () => import("./screens/organization/host.ts"),
  },
  {
    path: "/sign-in",
    title: "Sign in",
    public: true,
    load: () => import("./screens/entry/sign_in.ts"),
  },
  {
    path: "/sign-up",
    title: "Create an organization",
    public: true,
    load: () => import("./screens/entry/sign_up.ts"),
  },
  {
    path: "/join",
    title: "Join an organization",
    public: true,
    load: () => import("./screens/entry/join.ts"),
  },
  {
    path: "/reset",
    title: "Choose a new password",
    public: true,
    load: () => import("./screens/entry/reset.ts"),
  },
];
