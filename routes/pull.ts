import { z } from "zod";
import { EVENT_TYPES } from "../core/events/events.ts";
import { pullEvents, READABLE_BY } from "../core/delivery/delivery.ts";
import { route } from "./call/route.ts";
import { commaList, JsonObject, PageLimit, Timestamp, wholeNumber } from "./schemas/schemas.ts";

const Types = commaList(EVENT_TYPES, 1_000)
  .meta({ description: "Event types, separated by commas." });

const PulledEvent = z.object({
  seq: z.int().meta({ description: "The sequence number in the organization's log." }),
  event_id: z.string(),
  event_type: z.string(),
  timestamp: Timestamp,
  organization_id: z.string(),
  agent_id: z.string().optional(),
  payload: JsonObject,
}).meta({ id: "PulledEvent" });

export const pullRoutes = [
  route({
    id: "events.pull",
    method: "GET",
    path: "/api/v1/events",
    summary: "Poll for webhook events, oldest first",
    description:
      "Returns the events that a webhook would receive. For the next page set `since` to " +
      "`next`. Sequence numbers count all events of the organization; events that the caller " +
      "may not read or did not request are skipped. Each event is returned exactly once. If " +
      "`since` is beyond the end of the log, as after a restored backup, or the next events " +
      "are past their retention, the response is 410 and `details.next` is the number to " +
      "continue from.",
    access: { scope: READABLE_BY },
    effect: "read",
    query: z.strictObject({
      since: wholeNumber(0, Number.MAX_SAFE_INTEGER).prefault(0).meta({
        description: "The `next` of the previous response.",
      }),
      limit: PageLimit,
      types: Types.optional(),
    }),
    success: {
      status: 200,
      body: z.object({
        events: z.array(PulledEvent),
        next: z.int().meta({ description: "The sequence number of the last event examined." }),
        head: z.int().meta({ description: "The sequence number of the newest event." }),
        has_more: z.boolean(),
      }),
    },
    faults: ["GONE"],
    handle: (work, { query }, { epoch }) => pullEvents(work, epoch, query),
  }),
];
