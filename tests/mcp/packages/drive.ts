import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";

interface Progress {
  readonly progress: number;
  readonly message?: string;
}

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}

/** What a client must be able to do, in the words of neither package. */
export interface Driven {
  revision(): string;
  listTools(): Promise<string[]>;
  /** Calls a tool and asks for its progress. */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<Result>;
  readResource(uri: string): Promise<number>;
  close(): Promise<void>;
  /** What `progressBy` collects. */
  readonly told: readonly Progress[];
}

interface Received {
  onmessage?: (message: never, extra: never) => void;
}

/** The progress of calls as it is received: clients forget that which they read together with an answer. */
export function progressBy(transport: Received): Progress[] {
  const told: Progress[] = [];
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const { method, params } = message as { method?: string; params: Progress };
    if (method === "notifications/progress") told.push(params);
    onmessage!(message, extra);
  };
  return told;
}

/** Where a client connects: to an address, or by starting a program. */
export type Place =
  | { readonly url: string; readonly key: string }
  | {
    readonly command: string;
    readonly args: string[];
    readonly env: Record<string, string>;
  };

/** Connects a client to the relay of the arguments and does with it what people do. */
export async function driveClient(
  name: string,
  connect: (place: Place) => Promise<Driven>,
): Promise<void> {
  const [place, agent_id] = Deno.args as [string, string];
  const client = await connect(JSON.parse(place));
  const tools = await client.listTools();
  ok(tools.includes("run_command") && tools.includes("list_agents"));
  const agents = await client.call("list_agents", {});
  eq((agents.structuredContent as { agents: unknown[] }).agents.length, 1);

  const { told } = client;
  const command = "echo one; sleep 0.4; echo two; sleep 0.4; echo three";
  const ran = await client.call("run_command", { agent_id, command });
  eq(ran.structuredContent?.stdout, "one\ntwo\nthree\n");
  eq(told.map(({ message }) => message).join(""), "one\ntwo\nthree\n");
  ok(told.length >= 2, "output came while the command ran");
  deq(told.map(({ progress }) => progress), told.map((_, at) => at + 1));

  const denied = await client.call("run_command", { agent_id, command: "rm -rf /" });
  deq([denied.isError, codeOf(denied)], [true, "COMMAND_BLOCKED"]);
  const pending = await client.call("run_command", { agent_id, command: "systemctl stop nginx" });
  deq([pending.isError, codeOf(pending)], [true, "APPROVAL_REQUIRED"]);
  eq(await client.readResource("relay://agents"), 1);
  const revision = client.revision();
  await client.close();
  console.log(`${name} spoke ${revision} and heard ${told.length} parts of the output`);
}

const codeOf = ({ content }: Result): string => JSON.parse(content[0]!.text).error.code;
