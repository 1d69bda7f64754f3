import { z } from "zod";
import {
  deleteAgent,
  listAgents,
  ownedAgent,
  reportHeartbeat,
  restartAgent,
  showAgent,
} from "../core/agents/agents.ts";
import { REPORTED_STATUSES } from "../kv/records/agent.ts";
import { route, type RouteSpec } from "./call/route.ts";
import { Id, IdParams, listOf, Named, PageQuery, Timestamp } from "./schemas/schemas.ts";

/** The status of an agent, by its link. */
export const AgentStatus = z.enum(["online", "degraded", "offline"]).meta({ id: "AgentStatus" });
const ReportedStatus = z.enum(REPORTED_STATUSES).meta({ id: "ReportedStatus" });

const Agent = z.object({
  id: z.string(),
  name: z.string(),
  status: AgentStatus,
  reported_status: ReportedStatus.nullable(),
  last_seen_at: Timestamp.nullable(),
  connected_at: Timestamp.nullable(),
  version: z.string(),
  platform: z.string(),
  hostname: z.string(),
  labels: z.record(z.string(), z.string()),
  policy_version: z.string().nullable(),
  created_at: Timestamp,
}).meta({ id: "Agent" });

const AgentList = listOf("agents", Agent)
  .meta({ id: "AgentList" });
const ListQuery = PageQuery.extend({
  status: AgentStatus.optional().meta({ description: "Agents of this status." }),
  name: z.string().min(1).max(128).optional().meta({ description: "Agents of this very name." }),
  label: z.string().max(192).regex(/^[^=]+=/, "must be key=value")
    .transform((text) => {
      const cut = text.indexOf("=");
      return { key: text.slice(0, cut), value: text.slice(cut + 1) };
    }).optional().meta({ description: "Agents that have this label, as `key=value`." }),
});

const list = {
  method: "GET",
  access: { scope: "agents:read" },
  description:
    "In the order of their registration, all or those of a status, a name and a label. A " +
    "search by name or label looks at the first 10,000 agents.",
  effect: "read",
  query: ListQuery,
  success: { status: 200, body: AgentList },
  faults: [],
  handle: (work, { query }) => listAgents(work, query),
} satisfies Omit<
  RouteSpec<"read", undefined, typeof ListQuery, undefined, typeof AgentList>,
  "id" | "path" | "summary"
>;

export const agentRoutes = [
  route({ ...list, id: "agents.list_all", path: "/api/agents", summary: "List agents" }),
  route({
    ...list,
    id: "agents.list",
    path: "/api/v1/agents",
    summary: "List agents (control plane)",
    tool: { destructive: false },
  }),
  route({
    id: "agents.get",
    method: "GET",
    path: "/api/v1/agents/{id}",
    summary: "Agent details",
    access: { scope: "agents:read" },
    effect: "read",
    params: IdParams,
    agent: "id",
    success: { status: 200, body: Agent },
    faults: ["AGENT_NOT_FOUND"],
    tool: { destructive: false },
    handle: async (work, { params }) => showAgent(await ownedAgent(work, params.id)),
  }),
  route({
    id: "agents.delete",
    method: "DELETE",
    path: "/api/v1/agents/{id}",
    summary: "Deregister an agent and close its link",
    access: { scope: "agents:admin" },
    effect: "write",
    audit: {
      event: "agent_deleted",
      resource: "agent",
      id: (agent) => agent.id,
      details: ({ name }, _, actor) => ({ name, user: actor.id }),
    },
    params: IdParams,
    agent: "id",
    success: { status: 204, about: Named },
    faults: ["AGENT_NOT_FOUND"],
    tool: { destructive: true },
    handle: (work, { params }, { links }) => deleteAgent(work, links, params.id),
  }),
  route({
    id: "agents.restart",
    method: "POST",
    path: "/api/v1/agents/{id}/restart",
    summary: "Tell an agent to start again",
    access: { scope: "agents:admin" },
    effect: "write",
    audit: {
      event: "agent_restart_requested",
      resource: "agent",
      id: (agent) => agent.id,
      details: ({ name }) => ({ name }),
    },
    params: IdParams,
    agent: "id",
    body: z.strictObject({}),
    success: { status: 200, body: Agent },
    faults: ["AGENT_NOT_FOUND", "AGENT_OFFLINE"],
    tool: { destructive: true },
    handle: (work, { params }, { links }) => restartAgent(work, links, params.id),
  }),
  route({
    id: "agents.heartbeat",
    method: "POST",
    path: "/api/v1/heartbeat",
    summary: "Report an agent's health without its link",
    description: "Kept as `reported_status`. With the credential that the agent registered with, " +
      "an API key or its device's, it is `verified` and a sign of life: `last_seen_at` moves. " +
      "Without it anybody may claim this, so it is neither. It never changes `status`, which is " +
      "`online` only while the agent has a link, and emits no event. At most 60 a minute for one " +
      "agent, and as many by the agent itself. Fields that Relay does not know are ignored.",
    access: {
      public: "the interface asks no credential here",
      credential: "optional",
      devices: true,
    },
    effect: "steps",
    audit: { none: "a claim, kept apart from what is known" },
    body: z.object({ agent_id: Id, status: ReportedStatus }),
    success: {
      status: 202,
      body: z.object({
        agent_id: z.string(),
        status: ReportedStatus,
        verified: z.boolean().meta({ description: "True for the agent's own credential." }),
        received_at: Timestamp,
      }),
    },
    faults: ["AGENT_NOT_FOUND"],
    handle: (work, { body }, { limiter }) => reportHeartbeat(work, limiter, body),
  }),
];
