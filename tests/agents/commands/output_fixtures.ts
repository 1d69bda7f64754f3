import type { CommandResult } from "../../../core/protocol/protocol.ts";
import type { ScriptedAgent } from "../../support/agent.ts";
import { type Received, StreamClient } from "../../support/stream.ts";
import type { World } from "../../support/world.ts";

/** A command whose agent does what the test says. */
export interface Played {
  readonly path: string;
  readonly id: string;
  write(stream: "stdout" | "stderr", data: string): void;
  finish(end?: Partial<CommandResult>): void;
}

/** The part of the agent in a command. */
const playOf = (agent: ScriptedAgent, id: string): Played => ({
  id,
  path: `/api/v1/agents/${agent.id}/commands/${id}`,
  write: (stream, data) => agent.send({ type: "output", command_id: id, stream, data }),
  finish: (end = {}) => agent.finish({ command_id: id, ...end }),
});

/** Starts a command of which the test plays the agent. */
export async function play(
  world: World,
  as: string,
  agent: ScriptedAgent,
  timeout = 60,
): Promise<Played> {
  agent.script = () => "silent";
  const { status, body, text } = await world.call("POST", `/api/v1/agents/${agent.id}/commands`, {
    as,
    body: { command: "make", timeout },
  });
  if (status !== 202) throw new Error(text);
  await world.settle();
  return playOf(agent, body.command_id);
}

/** Follows a command's output, from an offset on or after an event id. */
export const follow = (
  world: World,
  as: string,
  { path }: Pick<Played, "path">,
  { from, after }: { from?: number; after?: string } = {},
): Promise<StreamClient> =>
  StreamClient.open(world, as, {
    path: `${path}/output`,
    query: from === undefined ? "" : `?from=${from}`,
    headers: after === undefined ? {} : { "last-event-id": after },
  });

/** The output of messages in one text that names the streams. */
export function transcript(messages: readonly (Received | null)[]): string {
  let text = "", last = "";
  for (const message of messages) {
    if (message?.event !== "output") continue;
    const { stream, data } = message.data;
    if (stream !== last) text += `<${stream}>`;
    last = stream;
    text += data;
  }
  return text;
}

/** Waits while time passes, because another instance sends output in pieces that are some time apart. */
async function soon<T>(world: World, done: Promise<T>): Promise<T> {
  const pending = Symbol();
  for (;;) {
    const first = await Promise.race([done, Promise.resolve(pending)]);
    if (first !== pending) return first as T;
    await world.advance(25);
  }
}

/** Every message up to the stream's end. */
export async function readAll(world: World, client: StreamClient): Promise<Received[]> {
  const all: Received[] = [];
  for (;;) {
    const message = await soon(world, client.next());
    if (message === null) return all;
    all.push(message);
  }
}

/** The next messages that are output, until they hold so many bytes. */
export async function readBytes(
  world: World,
  client: StreamClient,
  bytes: number,
): Promise<Received[]> {
  const found: Received[] = [];
  let read = 0;
  while (read < bytes) {
    const message = await soon(world, client.next());
    if (message === null) throw new Error("the stream has ended");
    if (message.event !== "output") continue;
    found.push(message);
    read += new TextEncoder().encode(message.data.data).length;
  }
  return found;
}
