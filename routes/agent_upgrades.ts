import { z } from "zod";
import { JOB_STATUSES, UPGRADE_STATUSES } from "../kv/records/backup.ts";
import {
  cancelUpgrade,
  getUpgrade,
  startUpgrade,
  UPGRADED_MAX,
} from "../core/policies/policies.ts";
import { route } from "./call/route.ts";
import { AgentRef, Id, LabelSelector, Timestamp } from "./schemas/schemas.ts";

/** Agents that one request may name. */
const NAMED_MAX = 100;

const Upgrade = z.object({
  id: z.string(),
  version: z.string().meta({ description: "The relay's own version." }),
  status: z.enum(UPGRADE_STATUSES).meta({
    id: "UpgradeStatus",
    description: "`stopped` after failures or a cancellation, with agents left.",
  }),
  stop_after_failures: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  agents: z.array(z.object({
    agent_id: z.string(),
    name: z.string().nullable().meta({ description: "Null until the agent is asked." }),
    status: z.enum(["waiting", ...JOB_STATUSES, "deleted"]).meta({
      id: "AgentUpgradeStatus",
      description: "`deleted`: the agent was asked, and deleted since.",
    }),
    previous_version: z.string().nullable(),
    error: z.string().nullable().meta({ description: "Why the agent kept its program." }),
  })).meta({ description: "In the order in which they are upgraded." }),
  created_by: z.string(),
  created_at: Timestamp,
  finished_at: Timestamp.nullable(),
}).meta({ id: "Upgrade" });

const UpgradeStarted = z.object({
  upgrade: Upgrade.nullable().meta({ description: "Null when no agent can be upgraded." }),
  skipped: z.array(z.object({
    agent_id: z.string(),
    name: z.string(),
    current: z.boolean().meta({ description: "True for an agent that needs no upgrade." }),
    reason: z.string(),
  })).meta({ description: "Agents that are not upgraded, and why; at most 100." }),
  remaining: z.int().meta({
    description: "Agents beyond the first 1,000, for the next upgrade.",
  }),
}).meta({ id: "UpgradeStarted" });

const UpgradeParams = z.strictObject({ id: Id });

export const agentUpgradeRoutes = [
  route({
    id: "agent_upgrades.start",
    method: "POST",
    path: "/api/v1/agent-upgrades",
    summary: "Upgrade agents to the relay's version",
    description:
      "The outdated ones of the chosen agents get the program that the relay's operator provides, " +
      "in stages: one agent, then a tenth, then the others. A failure of the first one stops the " +
      "upgrade, and so do `stop_after_failures` later ones. An agent whose new program does not " +
      "come back runs the one before again. Running commands of an agent get 10 s to end. One " +
      `upgrade at a time, of at most ${UPGRADED_MAX} agents. See docs/upgrades.md.`,
    access: { scope: "agents:admin" },
    effect: "write",
    audit: { byRule: "upgrade_started, upgrade_ended, agent_upgraded, agent_upgrade_failed" },
    body: z.strictObject({
      names: z.array(AgentRef).min(1).max(NAMED_MAX).optional().meta({
        description: "Agents by name or id.",
      }),
      labels: LabelSelector.optional(),
      all: z.literal(true).optional().meta({ description: "All agents." }),
      stop_after_failures: z.int().min(1).max(UPGRADED_MAX).default(1),
    }).refine(
      ({ names, labels, all }) =>
        [names, labels, all].filter((given) => given !== undefined).length === 1,
      "must hold one of names, labels and all",
    ).meta({ examples: [{ names: ["web-1"] }] }),
    success: { status: 200, body: UpgradeStarted },
    faults: ["AGENT_NOT_FOUND", "CONFLICT"],
    handle: (work, { body }, { links, transfers, instance }) =>
      startUpgrade(work, { links, transfers, instance }, body),
  }),
  route({
    id: "agent_upgrades.get",
    method: "GET",
    path: "/api/v1/agent-upgrades/{id}",
    summary: "Get an upgrade of agents",
    description: "The newest 20 upgrades are kept.",
    access: { scope: "agents:read" },
    effect: "read",
    params: UpgradeParams,
    success: { status: 200, body: Upgrade },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => getUpgrade(work, params.id),
  }),
  route({
    id: "agent_upgrades.cancel",
    method: "POST",
    path: "/api/v1/agent-upgrades/{id}/cancel",
    summary: "Stop an upgrade of agents",
    description: "No further agent is asked. Agents that are being upgraded go on.",
    access: { scope: "agents:admin" },
    effect: "write",
    audit: { byRule: "upgrade_ended" },
    params: UpgradeParams,
    body: z.strictObject({}),
    success: { status: 200, body: Upgrade },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params }, { links, transfers, instance }) =>
      cancelUpgrade(work, { links, transfers, instance }, params.id),
  }),
];
