import { z } from "zod";
import { listAgentCommands, listCommands } from "../core/agents/agents.ts";
import { Verdict } from "../core/shield/shield.ts";
import { COMMAND_STATUSES } from "../kv/records/command.ts";
import { AgentParams, Label } from "./agents.ts";
import { Command } from "./commands.ts";
import { route } from "./call/route.ts";
import { AgentFilter, commaList, Id, Instant, LastInstant, PageLimit } from "./schemas/schemas.ts";

const TEXT_MAX = 200;
const CURSOR_CHARS_MAX = 256;

const Filter = z.strictObject({
  status: commaList(COMMAND_STATUSES, 200).optional().meta({
    description: `One or more, separated by commas, of ${COMMAND_STATUSES.join(", ")}.`,
    examples: ["queued,running"],
  }),
  label: Label.optional().meta({
    description: "Commands of agents that have this label now, as `key=value`.",
  }),
  actor: Id.optional().meta({ description: "The id of the user or API key that asked." }),
  text: z.string().min(1).max(TEXT_MAX).optional().meta({
    description: "A text that occurs in the command, ignoring case.",
  }),
  verdict: Verdict.optional().meta({ description: "The shield's verdict." }),
  start_time: Instant.optional().meta({
    description:
      "Commands created from this time, or from the start of this date, inclusive; UTC unless a " +
      "zone is given.",
  }),
  end_time: LastInstant.optional().meta({
    description:
      "Commands created until this time, or the end of this date, inclusive; UTC unless a zone is " +
      "given.",
  }),
  limit: PageLimit,
  cursor: z.string().max(CURSOR_CHARS_MAX).optional().meta({
    description: "The `cursor` of the previous response.",
  }),
});

/** A command in lists. */
export const ListedCommand = Command.omit({
  stdout: true,
  stderr: true,
  output_unavailable: true,
  shield_result: true,
})
  .extend({
    command: z.string().meta({ description: "The first 2,000 characters." }),
    command_truncated: z.literal(true).optional(),
    command_sha256: z.string().optional().meta({
      description: "SHA-256 of the whole command, if it is cut.",
    }),
    actor: z.string().meta({ description: "The user or API key that asked." }),
    verdict: Verdict,
    risk_score: z.int(),
  }).meta({ id: "ListedCommand" });

const CommandList = z.object({
  commands: z.array(ListedCommand),
  cursor: z.string().nullable().meta({
    description: "Where the next page begins; null at the end.",
  }),
}).meta({ id: "CommandList" });

const list = {
  method: "GET",
  description:
    "Commands that wait, run or have ended, without their output. For the next page send " +
    "`cursor`; new commands do not shift it. A page examines at most 1,000 commands, so with " +
    "filters it may hold fewer than `limit`, or none, and still have a cursor.",
  access: { scope: "agents:read" },
  effect: "read",
  rules: { "query.cursor": "must be the `cursor` of a previous response" },
  success: { status: 200, body: CommandList },
} as const;

/** A checked query as the rule takes it. */
function choiceOf<Q extends z.output<typeof Filter>>(
  { start_time, end_time, limit, cursor, ...rest }: Q,
) {
  return [{ ...rest, startMs: start_time, endMs: end_time }, { limit, cursor }] as const;
}

export const commandListRoutes = [
  route({
    ...list,
    id: "commands.list",
    path: "/api/v1/commands",
    summary: "List commands, newest first",
    query: Filter.extend({
      agent_id: AgentFilter.optional(),
      command_id: Id.optional().meta({
        description: "Exactly this command, such as to find its agent.",
      }),
      parent_id: Id.optional().meta({ description: "Commands of this fleet command." }),
    }),
    agent: "agent_id",
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "list_commands", destructive: false, common: true },
    handle: (work, { query }, { commands }) => listCommands(work, commands, ...choiceOf(query)),
  }),
  route({
    ...list,
    id: "commands.of_agent",
    path: "/api/v1/agents/{id}/commands",
    summary: "List an agent's commands, newest first",
    params: AgentParams,
    agent: "id",
    query: Filter,
    faults: ["AGENT_NOT_FOUND"],
    handle: (work, { params, query }, { commands }) => {
      const [filter, paging] = choiceOf(query);
      return listAgentCommands(work, commands, { ...filter, agent_id: params.id }, paging);
    },
  }),
];
