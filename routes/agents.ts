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
import { DeletedResource, Id, IdParams, listOf, PageQuery, Timestamp } from "./schemas/schemas.ts";

/** The status of an agent, by its link. */
export const AgentStatus = z.enum(["online", "degraded", "offline"]).meta({ id: "AgentStatus" });
const ReportedStatus = z.enum(REPORTED_STATUSES).meta({ id: "ReportedStatus" });

const Agent = z.object({
  id: z.string(),
  name: z.string(),
  status: AgentStatus,
  reported_status: ReportedStatus.nullable(),
  last_seen_at: Timestamp.nullable(),
  connected_at: Timestamp.nullable().meta({
    description: "When its newest link began; kept after that link has ended.",
  }),
  version: z.string(),
  platform: z.string(),
  hostname: z.string(),
  labels: z.record(z.string(), z.string()),
  policy_version: z.string().nullable(),
  created_at: Timestamp,
}).meta({ id: "Agent" });

/** A label in a query, as `key=value`. */
export const Label = z.string().max(192).regex(/^[^=]+=/, "must be key=value")
  .transform((text) => {
    const cut = text.indexOf("=");
    return { key: text.slice(0, cut), value: text.slice(cut + 1) };
  });

const AgentList = listOf("agents", Agent)
  .meta({ id: "AgentList" });
const ListQuery = PageQuery.extend({
  status: AgentStatus.optional().meta({ description: "Agents with this status." }),
  name: z.string().min(1).max(128).optional().meta({
    description: "Agents with exactly this name.",
  }),
  label: Label.optional().meta({ description: "Agents with this label, as `key=value`." }),
});

const list = {
  method: "GET",
  access: { scope: "agents:read" },
  description:
    "The list is in order of registration. A search by name or label examines the first " +
    "10,000 agents.",
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
    summary: "Get an agent",
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
    success: { status: 204, about: DeletedResource },
    faults: ["AGENT_NOT_FOUND"],
    tool: { destructive: true },
    handle: (work, { params }, { links }) => deleteAgent(work, links, params.id),
  }),
  route({
    id: "agents.restart",
    method: "POST",
    path: "/api/v1/agents/{id}/restart",
    summary: "Restart an agent",
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
    description: "The report is stored as `reported_status`. If it is sent with the agent's own " +
      "credential (the API key or device credential that it registered with), it is `verified` " +
      "and updates `last_seen_at`. Without that credential it is neither, because anyone could " +
      "have sent it. It never changes `status`, which is `online` only while the agent is " +
      "linked, and emits no event. Each agent may send 60 reports a minute with its own " +
      "credential; all other senders share another 60. Unknown fields are ignored.",
    access: {
      public: "this endpoint requires no credential",
      credential: "optional",
      devices: true,
    },
    effect: "steps",
    audit: { none: "the report never changes the agent's status" },
    body: z.object({ agent_id: Id, status: ReportedStatus }),
    success: {
      status: 202,
      body: z.object({
        agent_id: z.string(),
        status: ReportedStatus,
        verified: z.boolean().meta({
          description: "True when the agent's own credential was sent.",
        }),
        received_at: Timestamp,
      }),
    },
    faults: ["AGENT_NOT_FOUND"],
    handle: (work, { body }, { limiter }) => reportHeartbeat(work, limiter, body),
  }),
];
