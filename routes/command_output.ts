import { z } from "zod";
import { mustPass } from "../core/access/access.ts";
import { openOutput, type OutputSink, ownedCommand, readOutput } from "../core/agents/agents.ts";
import type { Actor, RequestInfo } from "../core/identity/identity.ts";
import type { Relay } from "../core/relay.ts";
import type { Reading } from "../core/work/work.ts";
import type { CommandRecord } from "../kv/records/command.ts";
import { acceptedOf } from "./call/accept.ts";
import { call } from "./call/call.ts";
import { deny, missingRights } from "./call/rights.ts";
import { EventStream, type Route, route } from "./call/route.ts";
import { CommandParams, CommandStatus } from "./commands.ts";
import type { Follow } from "./http/event_frames.ts";
import { SseSink } from "./http/sse.ts";
import { wholeNumber } from "./schemas/schemas.ts";

const JSON_TYPE = "application/json";
const EVENT_STREAM = "text/event-stream";
/** Far beyond the longest output, so that an offset is never refused because a limit changed. */
const OFFSET_MAX = 2 ** 31;
const READ_BYTES_MAX = 1024 * 1024;

/** A part of a command's output in responses. */
const OutputChunk = z.object({
  stream: z.enum(["stdout", "stderr"]),
  offset: z.int().meta({
    description: "The bytes of both streams that came before `data`.",
  }),
  data: z.string(),
}).meta({ id: "OutputChunk" });

const CommandOutput = z.object({
  command_id: z.string(),
  agent_id: z.string(),
  status: CommandStatus,
  chunks: z.array(OutputChunk).meta({
    description: "In the order in which the output came; at most 256.",
  }),
  next_offset: z.int().meta({ description: "The `from` that continues after these chunks." }),
  complete: z.boolean().meta({
    description: "True when the command has ended and nothing follows these chunks.",
  }),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  truncated: z.boolean().meta({ description: "True when output was left out so far." }),
  reason: z.string().nullable().meta({ description: "Why there is no result." }),
}).meta({ id: "CommandOutput" });

const output = route({
  id: "commands.output",
  method: "GET",
  path: "/api/v1/agents/{id}/commands/{command_id}/output",
  summary: "Read or follow a command's output",
  description:
    "With `Accept: text/event-stream` the output follows the command live: `status`, then " +
    "`output` for each chunk, and at the end `result`. Otherwise the response holds what there " +
    "is. Both begin at a byte offset, which stays valid after the command's end. Resume a " +
    "stream with `Last-Event-ID` or `from`. See docs/streams.md.",
  access: { scope: "agents:read" },
  noStore: true,
  effect: "read",
  params: CommandParams,
  agent: "id",
  query: z.strictObject({
    from: wholeNumber(0, OFFSET_MAX).prefault(0).meta({
      description: "The offset to begin at. The header `Last-Event-ID` takes precedence. An " +
        "offset within a character counts as its first byte.",
    }),
    max_bytes: wholeNumber(1, READ_BYTES_MAX).prefault(READ_BYTES_MAX).meta({
      description: "The most bytes in a JSON response, or one character; a stream ignores it.",
    }),
  }),
  success: { status: 200, body: CommandOutput, orStream: EVENT_STREAM },
  faults: ["AGENT_NOT_FOUND", "NOT_FOUND", "NOT_ACCEPTABLE", "UNAVAILABLE"],
  handle: async (work, { params, query, accept }, relay) => {
    const type = acceptedOf(accept, [JSON_TYPE, EVENT_STREAM]);
    const record = await ownedCommand(work, relay.commands, params.id, params.command_id);
    if (type === JSON_TYPE) return await readOutput(work, relay, record, query);
    let leave = () => {};
    const sink = new SseSink(relay, () => leave());
    leave = openOutput(work, relay, record, query.from, sink);
    sink.expectReader();
    return new EventStream(sink);
  },
});

export const commandOutputRoutes = [output];

/**
 * Follows a command's output on a connection that is open already. A follow is checked, limited and recorded as a
 * request for the stream is. Returns how to stop.
 * @throws {Fault} INSUFFICIENT_SCOPES, RATE_LIMIT_EXCEEDED, and those of the endpoint
 */
export async function followOutput(
  relay: Relay,
  actor: Actor,
  request: RequestInfo,
  { agent_id, command_id, from }: Follow,
  sink: OutputSink,
): Promise<() => void> {
  const { refusal } = await relay.limiter.takeForCommands(actor, 1);
  if (refusal !== null) mustPass(refusal, relay.ports.clock.now());
  const missing = missingRights(output, actor);
  if (missing !== null) throw await deny(relay, output, actor, request, missing);
  const find: Route = {
    ...output,
    handle: (work: Reading, { params: { id } }: { params: z.output<typeof CommandParams> }) =>
      ownedCommand(work, relay.commands, id, command_id),
  };
  // The output is opened after the use of a key is recorded.
  const record = await call(relay, find, actor, request, {
    params: { id: agent_id, command_id },
    query: { from: `${from}` },
    body: () => null,
    accept: EVENT_STREAM,
  }) as CommandRecord;
  return openOutput({ actor, request }, relay, record, from, sink);
}
