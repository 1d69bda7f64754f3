import { idsOf } from "../../identity/identity.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Streams } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import type { Ports } from "../../ports/ports.ts";
import type { Work } from "../../work/work.ts";
import type { LiveOutput } from "./live_output.ts";
import { type OutputSink, OutputStream } from "./output_stream.ts";

/** A part of a command's output as answers show it. @throws {Fault} UNAVAILABLE */
export async function readOutput(
  { actor, request }: Work,
  { liveOutput }: { readonly liveOutput: LiveOutput },
  command: CommandRecord,
  { from, max_bytes }: { readonly from: number; readonly max_bytes: number },
) {
  const start = request.lastEventId === null ? from : offsetOf(request.lastEventId);
  const range = await liveOutput.read(actor.tenant, command, start, max_bytes);
  if (range === null) {
    throw new Fault("UNAVAILABLE", "The command's instance of Relay did not answer. Try again.");
  }
  const { chunks, complete, next, record, truncated } = range;
  return {
    command_id: record.id,
    agent_id: record.agent_id,
    status: record.status,
    chunks: [...chunks],
    next_offset: next,
    complete,
    exit_code: record.exit_code,
    signal: record.signal,
    truncated,
    reason: record.reason,
  };
}

/** The parts that streams of output use. */
interface OutputParts {
  readonly ports: Ports;
  readonly liveOutput: LiveOutput;
  readonly streams: Streams;
}

/**
 * Sends a command's output to a client until the command has ended; returns how to stop.
 * @throws {Fault} VALIDATION_FAILED for a malformed `Last-Event-ID`, UNAVAILABLE, RATE_LIMIT_EXCEEDED
 */
export function openOutput(
  { actor, request }: Pick<Work, "actor" | "request">,
  { liveOutput, ports, streams }: OutputParts,
  { id }: CommandRecord,
  from: number,
  sink: OutputSink,
): () => void {
  const start = request.lastEventId === null ? from : offsetOf(request.lastEventId);
  streams.mustHaveCapacity(actor);
  const stream = new OutputStream(actor, ports.clock.now(), start, {
    reader: liveOutput.reader(actor.tenant, id),
    sink,
    onEnd: (ended) => streams.leave(ended),
    onError: (error) =>
      ports.log.error("a stream could not read a command's output", {
        ...idsOf(request),
        error: String(error),
      }),
  });
  streams.join(stream);
  stream.run();
  return () => streams.leave(stream);
}

/** @throws {Fault} VALIDATION_FAILED */
function offsetOf(lastEventId: string): number {
  if (/^[0-9]{1,9}$/.test(lastEventId)) return Number(lastEventId);
  throw new Fault(
    "VALIDATION_FAILED",
    "Relay did not issue this event id. Send the id of a received `output` message.",
    { issues: [{ path: "headers.last-event-id", message: "must be a byte offset" }] },
  );
}
