import type {
  Client,
  Command,
  CommandOutput,
  ListedCommand,
  OutputChunk,
} from "../../client/client.ts";
import type { Call, Run } from "./command.ts";
import { CUT, exitCodeOf } from "./exec.ts";
import { followCommand, printer } from "./follow.ts";

/** The form of an agent's id, which no name has. */
const AGENT_ID = /^agt_/;

/** `relay commands ls` */
export const listCommands: Run = async ({ relay, text, number, out }) => {
  const agent = text("agent");
  const query = {
    status: text("status"),
    label: text("label"),
    actor: text("actor"),
    text: text("text"),
    verdict: text("verdict") as ListedCommand["verdict"] | undefined,
    start_time: text("start-time"),
    end_time: text("end-time"),
    limit: number("limit"),
    cursor: text("cursor"),
  };
  // A deleted agent has an id only, and another one may have its name.
  const answer =
    await (agent === undefined || AGENT_ID.test(agent)
      ? relay().call("commands.list", { query: { ...query, agent_id: agent } })
      : relay().call("commands.of_agent", { params: { id: agent }, query }));
  const heading = ["ID", "AGENT", "STATUS", "EXIT", "CREATED", "COMMAND"];
  await out.list(
    answer,
    heading,
    answer.commands.map(({ command_id, agent_id, status, exit_code, created_at, command }) =>
      [command_id, agent_id, status, exit_code, created_at, command] as const
    ),
  );
  if (answer.cursor !== null) await out.note(`There may be more: --cursor ${answer.cursor}`);
};

/** `relay commands show` */
export const showCommand: Run = async ({ relay, out, args: [id = ""] }) => {
  const client = relay();
  const { actor, verdict, params } = await find(client, id);
  const command = await client.call("commands.get", { params });
  await print(out, command, [["asked by", actor], ["verdict", verdict]]);
};

/** `relay commands logs` */
export const commandLogs: Run = async ({ relay, out, has, host, args: [id = ""] }) => {
  const client = relay();
  const { params } = await find(client, id);
  const plain = out.format === "table" && !has("quiet");
  const printed = plain ? printer(host) : () => Promise.resolve();
  const followed = { agent_id: params.id, command_id: params.command_id };
  const end = has("follow") ? await followCommand(client, followed, printed) : null;
  if (end === null || !plain) {
    const { answer, chunks } = await readAll(client, params, printed);
    if (!plain) await out.item({ ...answer, chunks }, id, []);
    else if (answer.truncated) await out.note(`relay: ${CUT}`);
  }
  if (end !== null) return await exitCodeOf({ out }, end);
};

/** `relay commands cancel` */
export const cancelCommand: Run = async ({ relay, out, args: [id = ""] }) => {
  const client = relay();
  const { params } = await find(client, id);
  await print(out, await client.call("commands.cancel", { params, body: {} }));
};

interface Params {
  readonly id: string;
  readonly command_id: string;
}

/** A command by its id alone, and where it is. @throws {Error} */
async function find(
  client: Client,
  command_id: string,
): Promise<ListedCommand & { readonly params: Params }> {
  const { commands: [found] } = await client.call("commands.list", { query: { command_id } });
  if (found === undefined) {
    throw new Error(`There is no command ${command_id}. List them: relay commands ls`);
  }
  return { ...found, params: { id: found.agent_id, command_id } };
}

/** All the output that there is now, printed as it is read. */
async function readAll(
  client: Client,
  params: Params,
  printed: (chunk: OutputChunk) => Promise<void>,
): Promise<{ readonly answer: CommandOutput; readonly chunks: readonly OutputChunk[] }> {
  const chunks: OutputChunk[] = [];
  for (let from = 0;;) {
    const answer = await client.call("commands.output", { params, query: { from } });
    for (const chunk of answer.chunks) await printed(chunk);
    chunks.push(...answer.chunks);
    if (answer.chunks.length === 0 || answer.complete) return { answer, chunks };
    from = answer.next_offset;
  }
}

type Fields = Parameters<Call["out"]["item"]>[2];

const print = (out: Call["out"], command: Command, more: Fields = []) =>
  out.item(command, command.command_id, [
    ["id", command.command_id],
    ["agent", command.agent_id],
    ["command", command.command],
    ["status", command.status],
    ["exit code", command.exit_code],
    ["signal", command.signal ?? undefined],
    ["reason", command.reason],
    ["risk", command.shield_result.risk_score],
    ...more,
    ["approval", command.approval_id ?? undefined],
    ["alert", command.alert_id],
    ["created", command.created_at],
    ["started", command.started_at],
    ["finished", command.finished_at],
    ["output", `relay commands logs ${command.command_id}`],
  ]);
