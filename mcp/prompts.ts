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
  description: "The agent concerned",
  required,
});

const PROMPTS: readonly Prompt[] = [
  {
    name: "investigate_alert",
    title: "Investigate an alert",
    description: "Find out what happened on an agent, without changing anything",
    arguments: [
      agent(true),
      { name: "alert", description: "What the alert says", required: false },
    ],
    text: ({ agent_id, alert = "not told" }) =>
      `Investigate an alert on the agent ${agent_id}. The alert: ${alert}\n\n` +
      "1. Read relay://agents to see the agent's state, and tail_events with its agent_id for what " +
      "happened lately.\n2. Use run_command only for commands that read. If one needs an approval, say " +
      "so and go on without it.\n3. Write down what happened, in the order of time, with the ids of " +
      "the events and commands that show it; then what is likely and what is not known.\n4. Propose " +
      "what to do. Change nothing yourself.",
  },
  {
    name: "prepare_change",
    title: "Prepare a change",
    description: "Plan a change on an agent and ask people to approve its commands",
    arguments: [
      agent(true),
      { name: "change", description: "What is to be changed", required: true },
    ],
    text: ({ agent_id, change }) =>
      `Prepare this change on the agent ${agent_id}: ${change}\n\n` +
      "1. Look at the present state with commands that only read.\n2. Write the commands of the change, " +
      "how each is undone, and how one sees that it worked.\n3. Ask for each command with " +
      "request_approval, in order, and tell the approval ids. Do not run the change in another way.\n" +
      "4. When they are approved, look at the results with get_command and check that it worked.",
  },
  {
    name: "compliance_note",
    title: "Write a compliance note",
    description: "Sum up who did what, from the audit trail",
    arguments: [
      { name: "start_time", description: "ISO 8601", required: true },
      { name: "end_time", description: "ISO 8601", required: true },
    ],
    text: ({ start_time, end_time }) =>
      `Write a compliance note for the time from ${start_time} to ${end_time}.\n\n` +
      "1. Read the trail with audit_query for that time, page by page, to its end.\n2. Count commands " +
      "that ran, were denied and were approved, and by whom; name refused access, new keys and revoked " +
      "ones.\n3. Every statement names the sequence numbers of the events it rests on. Say what the " +
      "trail does not show.",
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
    throw invalid(`There is no prompt ${JSON.stringify(name.slice(0, 100))}.`);
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
