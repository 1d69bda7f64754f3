import { z } from "zod";
import { NOTIFICATION } from "../core/events/streams/notification.ts";
import { reconnectDelayMs } from "../core/events/streams/ends.ts";
import { EVENT_RIGHTS } from "../core/events/streams/streams.ts";
import type { Stream, StreamFilter } from "../core/events/streams/stream.ts";
import { EVENT_TYPES } from "../core/events/types/webhook_events.ts";
import { acceptedOf } from "./call/accept.ts";
import { route } from "./call/route.ts";
import { commaList, Id, Severity } from "./schemas/schemas.ts";
import { SseSink } from "./http/sse.ts";

const EVENT_STREAM = "text/event-stream";

const Types = commaList([...EVENT_TYPES, NOTIFICATION], 2000).meta({
  description: "Event types, and `notification`, separated by commas.",
  examples: ["command_executed"],
});

/** What a subscriber may ask for. */
export const StreamQuery = z.strictObject({
  types: Types.optional(),
  agent_id: Id.optional(),
  severity: Severity.optional().meta({ description: "At least this one." }),
  last_event_id: z.string().max(128).optional().meta({
    description: "Where to go on; the header `Last-Event-ID` says the same and wins.",
  }),
});

export type StreamChoice = z.output<typeof StreamQuery>;

export const filterOf = (
  { types, agent_id, severity }: Omit<StreamChoice, "last_event_id">,
): StreamFilter => ({ types: types && new Set(types), agentId: agent_id, severity });

export const eventRoutes = [
  route({
    id: "events.stream",
    method: "GET",
    path: "/api/events",
    summary: "Events as they happen (server-sent events)",
    description: "The first event, `hello`, says whether everything since the last id will come " +
      "(`recovered`). Resume with `Last-Event-ID` or `last_event_id`. Which events come depends on " +
      "the rights of now. See docs/streams.md.",
    access: { scope: EVENT_RIGHTS },
    noStore: true,
    effect: "read",
    query: StreamQuery,
    success: { status: 200, content: [EVENT_STREAM] },
    faults: ["NOT_ACCEPTABLE", "UNAVAILABLE"],
    handle: async ({ actor, ports, request }, { query, accept }, { streams }) => {
      acceptedOf(accept, [EVENT_STREAM]);
      const { last_event_id, ...filter } = query;
      const opened: { stream?: Stream } = {};
      const sink = new SseSink(
        () => reconnectDelayMs({ ports }),
        () => opened.stream && streams.leave(opened.stream),
      );
      const from = request.lastEventId ?? last_event_id ?? null;
      opened.stream = await streams.open(actor, filterOf(filter), from, sink);
      sink.expectReader(ports.clock);
      return { type: EVENT_STREAM, body: sink, headers: { "x-accel-buffering": "no" } };
    },
  }),
];
