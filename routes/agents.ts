import { z } from "zod";
import {
  CAPABILITIES,
  deleteAgent,
  listAgents,
  ownedAgent,
  reportHeartbeat,
  restartAgent,
  showAgent,
  updateAgent,
} from "../core/agents/agents.ts";
import { labelKey, labelValue, programForm } from "../core/protocol/protocol.ts";
import {
  AGENT_ID_PREFIX,
  AGENT_NAME,
  isAgentName,
  REPORTED_STATUSES,
} from "../kv/records/agent.ts";
import { route, type RouteSpec } from "./call/route.ts";
import {
  AgentRef,
  DeletedResource,
  Flag,
  Id,
  listOf,
  PageQuery,
  Timestamp,
} from "./schemas/schemas.ts";

/** Labels that one request may set or remove: as many as an agent may have, both ways. */
const CHANGED_LABELS_MAX = 64;

/** The status of an agent, by its link. */
export const AgentStatus = z.enum(["online", "degraded", "offline"]).meta({ id: "AgentStatus" });
const ReportedStatus = z.enum(REPORTED_STATUSES).meta({ id: "ReportedStatus" });

/** How an agent's program is installed. */
const ProgramForm = programForm.meta({ id: "ProgramForm" });

/** What an agent's program may do beyond running commands. */
const Capability = z.enum(CAPABILITIES).meta({
  id: "AgentCapability",
  description: "`upgrade`: the relay can replace the program over the link. `key_handover`: the " +
    "agent follows a rotation of the verdict key by itself.",
});

const Labels = z.record(z.string(), z.string());

/** The parameters of a path that names an agent. */
export const AgentParams = z.strictObject({ id: AgentRef });

const Agent = z.object({
  id: z.string(),
  name: z.string().meta({ description: "Unique in its space. Paths take it in place of the id." }),
  display_name: z.string().nullable().meta({
    description: "The name that it was to have, if that does not fit the pattern of names or " +
      "belonged to another agent.",
  }),
  status: AgentStatus,
  reported_status: ReportedStatus.nullable(),
  last_seen_at: Timestamp.nullable(),
  connected_at: Timestamp.nullable().meta({
    description: "When its newest link began; kept after that link has ended.",
  }),
  version: z.string(),
  outdated: z.boolean().meta({ description: "True when the relay's own version is newer." }),
  platform: z.string(),
  hostname: z.string(),
  program: ProgramForm.nullable().meta({
    description: "How its program is installed. Executables and bundles can be upgraded over " +
      "the link. Null for versions that do not report it.",
  }),
  capabilities: z.array(Capability).meta({
    description: "What the agent reported with its newest link that its program may do.",
  }),
  labels: Labels.meta({
    description: "The labels in force, for policies and filters: `reported_labels`, overridden " +
      "by `relay_labels`.",
  }),
  reported_labels: Labels.meta({ description: "The labels that the agent reports of itself." }),
  relay_labels: Labels.meta({
    description: "The labels of its pairing code and those set by PATCH. The agent cannot " +
      "change them.",
  }),
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
    description: "The agent with exactly this name.",
  }),
  text: z.string().min(1).max(128).optional().meta({
    description: "A text that occurs in the name or the host name, ignoring case.",
  }),
  label: Label.optional().meta({ description: "Agents with this label, as `key=value`." }),
  outdated: Flag.optional().meta({
    description: "`true`: agents of an earlier version than the relay's. `false`: all others.",
  }),
});

const list = {
  method: "GET",
  access: { scope: "agents:read" },
  description:
    "The list is in order of registration. A search by text, label or `outdated` examines the first " +
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
    tool: { name: "list_agents", destructive: false, common: true },
  }),
  route({
    id: "agents.get",
    method: "GET",
    path: "/api/v1/agents/{id}",
    summary: "Get an agent",
    access: { scope: "agents:read" },
    effect: "read",
    params: AgentParams,
    agent: "id",
    success: { status: 200, body: Agent },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "get_agent", destructive: false, common: true },
    handle: async (work, { params }) => showAgent(await ownedAgent(work, params.id)),
  }),
  route({
    id: "agents.update",
    method: "PATCH",
    path: "/api/v1/agents/{id}",
    summary: "Rename an agent or change the relay's labels of it",
    description:
      "A name that another agent has gets a number: a second `web-1` becomes `web-1-2`, as the " +
      "response shows. Given labels become `relay_labels`, which the agent cannot change; null " +
      "removes one, and the others stay. Policies that select by labels apply at once.",
    access: { scope: "agents:admin" },
    effect: "steps",
    audit: { byRule: "agent_updated, with the names of the changed fields" },
    params: AgentParams,
    agent: "id",
    body: z.strictObject({
      name: z.string().regex(AGENT_NAME, "must match [a-z0-9][a-z0-9._-]{0,62}")
        .refine(isAgentName, `must not begin with ${AGENT_ID_PREFIX}, like an id`).optional()
        .meta({ description: "The new name.", examples: ["web-1"] }),
      labels: z.record(labelKey, labelValue.nullable()).refine(
        (labels) => Object.keys(labels).length <= CHANGED_LABELS_MAX,
        `must hold at most ${CHANGED_LABELS_MAX} labels`,
      ).optional().meta({
        description: "Labels to set; null removes one that belongs to the relay.",
        examples: [{ env: "prod" }],
        maxProperties: CHANGED_LABELS_MAX,
      }),
    }),
    rules: { "body.labels": "must leave at most 32 labels that belong to the relay" },
    success: { status: 200, body: Agent },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "update_agent", destructive: true },
    handle: (work, { params, body }, { links }) => updateAgent(work, links, params.id, body),
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
    params: AgentParams,
    agent: "id",
    success: { status: 204, about: DeletedResource },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "delete_agent", destructive: true },
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
    params: AgentParams,
    agent: "id",
    body: z.strictObject({}),
    success: { status: 200, body: Agent },
    faults: ["AGENT_NOT_FOUND", "AGENT_OFFLINE"],
    tool: { name: "restart_agent", destructive: true },
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
