import type { Exchange } from "./exchange.ts";
import { CODES, isObject, RpcError } from "./json_rpc.ts";
import { mustBeFirstPage, textOf } from "./params.ts";
import { type Result, withCacheHints } from "./result.ts";

interface Argument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly Argument[];
  readonly text: (args: Readonly<Record<string, string>>) => string;
}

const agent = (required: boolean): Argument => ({
  name: "agent_id",
  description: "The name or the id of the agent",
  required,
});

const PROMPTS: readonly Prompt[] = [
  {
    name: "investigate_alert",
    title: "Investigate an alert",
    description: "Find out what happened on an agent without changing anything",
    arguments: [
      agent(true),
      { name: "alert", description: "The text of the alert", required: false },
    ],
    text: ({ agent_id, alert = "not given" }) =>
      `Investigate an alert on the agent ${agent_id}. The alert: ${alert}\n\n1. Read ` +
      "relay://agents for the agent's state, and call tail_events with its agent_id for recent " +
      "events.\n2. Use run_command only for read-only commands. If one needs an approval, say " +
      "so and continue without it.\n3. Write down what happened in chronological order, with " +
      "the ids of the events and commands that show it. Then state what is likely and what is " +
      "unknown.\n4. Propose what to do. Change nothing yourself.",
  },
  {
    name: "prepare_change",
    title: "Prepare a change",
    description: "Plan a change on an agent and request approval for its commands",
    arguments: [
      agent(true),
      { name: "change", description: "The change to make", required: true },
    ],
    text: ({ agent_id, change }) =>
      `Prepare this change on the agent ${agent_id}: ${change}\n\n1. Inspect the present state ` +
      "with read-only commands.\n2. Write the commands of the change, how to undo each, and " +
      "how to verify that it worked.\n3. Request approval for each command in order with " +
      "request_approval, and report the approval ids. Do not run the change in another " +
      "way.\n4. When they are approved, read the results with get_command and verify that the " +
      "change worked.",
  },
  {
    name: "compliance_note",
    title: "Write a compliance note",
    description: "Summarize who did what, from the audit log",
    arguments: [
      { name: "start_time", description: "ISO 8601", required: true },
      { name: "end_time", description: "ISO 8601", required: true },
    ],
    text: ({ start_time, end_time }) =>
      `Write a compliance note for the period from ${start_time} to ${end_time}.\n\n1. Read ` +
      "the audit log of that period with query_audit_log, page by page, to its end.\n2. Count the " +
      "commands that ran, were denied and were approved, and by whom. List refused requests, " +
      "new keys and revoked keys.\n3. With every statement, give the sequence numbers of the " +
      "events that support it. Say what the log does not show.",
  },
];

/** Prompts are part of the program. */
const HINT = { ttlMs: 3_600_000, scope: "private" } as const;

/** `prompts/list`. */
export function listPrompts(exchange: Exchange): Result {
  mustBeFirstPage(exchange);
  const prompts = PROMPTS.map(({ text: _, ...prompt }) => prompt);
  return withCacheHints(exchange, `"prompts":${JSON.stringify(prompts)}`, HINT);
}

/** `prompts/get`. */
export function getPrompt(exchange: Exchange): Result {
  const name = textOf(exchange, "name");
  const args = argumentsOf(exchange);
  const prompt = PROMPTS.find((prompt) => prompt.name === name);
  if (prompt === undefined) {
    throw invalid(`There is no prompt ${JSON.stringify(name.slice(0, 100))}. See prompts/list.`);
  }
  for (const { name, required } of prompt.arguments) {
    if (required && args[name] === undefined) throw invalid(`The argument ${name} is missing.`);
  }
  const messages = [{ role: "user", content: { type: "text", text: prompt.text(args) } }];
  const { description } = prompt;
  return { members: JSON.stringify({ description, messages }).slice(1, -1) };
}

/** True when a prompt takes an argument of that name. */
export const promptTakes = (name: unknown, argument: unknown): boolean =>
  PROMPTS.some((prompt) =>
    prompt.name === name && prompt.arguments.some((takes) => takes.name === argument)
  );

function argumentsOf({ params }: Exchange): Record<string, string> {
  const args = params.arguments ?? {};
  if (isObject(args) && Object.values(args).every((value) => typeof value === "string")) {
    return args as Record<string, string>;
  }
  throw invalid("`params.arguments` must be an object of strings.");
}

const invalid = (why: string) => new RpcError(CODES.invalidParams, why);
