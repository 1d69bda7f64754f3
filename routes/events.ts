import { EVENT_RIGHTS, type Stream } from "../core/events/events.ts";
import { acceptedOf } from "./call/accept.ts";
import { route } from "./call/route.ts";
import { filterOf, StreamQuery } from "./schemas/event_stream.ts";
import { SseSink } from "./http/sse.ts";

const EVENT_STREAM = "text/event-stream";

export const eventRoutes = [
  route({
    id: "events.stream",
    method: "GET",
    path: "/api/events",
    summary: "Stream events (server-sent events)",
    description:
      "The first event, `hello`, says whether the stream is complete since the last id " +
      "(`recovered`). Resume with `Last-Event-ID` or `last_event_id`. The caller's present " +
      "rights determine which events are sent. See docs/streams.md.",
    access: { scope: EVENT_RIGHTS },
    noStore: true,
    effect: "read",
    query: StreamQuery,
    agent: "agent_id",
    success: { status: 200, content: [EVENT_STREAM] },
    faults: ["AGENT_NOT_FOUND", "NOT_ACCEPTABLE", "UNAVAILABLE"],
    handle: async ({ actor, request }, { query, accept }, relay) => {
      acceptedOf(accept, [EVENT_STREAM]);
      const { streams } = relay;
      const { last_event_id, ...filter } = query;
      const opened: { stream?: Stream } = {};
      const sink = new SseSink(
        relay,
        () => opened.stream && streams.leave(opened.stream),
      );
      const from = request.lastEventId ?? last_event_id ?? null;
      opened.stream = await streams.open(actor, filterOf(filter), from, sink);
      sink.expectReader();
      return { type: EVENT_STREAM, body: sink, headers: { "x-accel-buffering": "no" } };
    },
  }),
];
