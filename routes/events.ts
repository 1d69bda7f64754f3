import { z } from "zod";
import { MESSAGE_ID } from "../core/streams/message.ts";
import { NOTIFICATION } from "../core/streams/notification.ts";
import { EVENT_RIGHTS, retryAfterMs } from "../core/streams/streams.ts";
import type { Stream, StreamFilter } from "../core/streams/stream.ts";
import { EVENT_TYPES } from "../core/webhooks/event_types.ts";
import { acceptedOf } from "./_accept.ts";
import { route } from "./_route.ts";
import { commaList, Id, Severity } from "./_schemas.ts";
import { SseSink } from "./_sse.ts";

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
  last_event_id: z.string().regex(MESSAGE_ID, "must be <name>:<number>").optional().meta({
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
    handle: async ({ app, actor, request }, { query, accept }) => {
      acceptedOf(accept, [EVENT_STREAM]);
      const { last_event_id, ...filter } = query;
      const opened: { stream?: Stream } = {};
      const sink = new SseSink(
        () => retryAfterMs(app),
        () => opened.stream && app.streams.leave(opened.stream),
      );
      const from = request.lastEventId ?? last_event_id ?? null;
      opened.stream = await app.streams.open(actor, filterOf(filter), from, sink);
      sink.expectReader(app.ports.clock);
      return { type: EVENT_STREAM, body: sink, headers: { "x-accel-buffering": "no" } };
    },
  }),
];
