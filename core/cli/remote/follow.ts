import type { Client, Command, OutputChunk } from "../../client/client.ts";
import type { Host } from "./host.ts";

/** The command whose output is followed. */
type Followed = Pick<Command, "agent_id" | "command_id">;

/** How a command ended. */
export type CommandEnd = Pick<
  Command,
  "command_id" | "status" | "exit_code" | "signal" | "reason" | "truncated"
>;

/**
 * Passes the output of a command to `take` as it comes, from the beginning, each byte once, until the command ends. A
 * lost connection is resumed. Null when the signal was aborted before the end.
 * @throws {RelayError}
 */
export async function followCommand(
  client: Client,
  { agent_id: id, command_id }: Followed,
  take: (chunk: OutputChunk) => Promise<void>,
  signal?: AbortSignal,
): Promise<CommandEnd | null> {
  const params = { id, command_id };
  for await (const { event, data } of client.stream("commands.output", { params, signal })) {
    if (event === "output") await take(data as OutputChunk);
    if (event === "result") return data as CommandEnd;
  }
  return null;
}

/** Prints output where the command wrote it. */
export const printer = (host: Host) => ({ stream, data }: Pick<OutputChunk, "stream" | "data">) =>
  stream === "stdout" ? host.write(data) : host.writeError(data);
