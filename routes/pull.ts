import { z } from "zod";
import { EVENT_TYPES } from "../core/events/events.ts";
import { pullEvents, READABLE_BY } from "../core/delivery/delivery.ts";
import { route } from "./call/route.ts";
import { commaList, JsonObject, PageLimit, Timestamp, wholeNumber } from "./schemas/schemas.ts";

const Types = commaList(EVENT_TYPES, 1_000)
  .meta({ description: "Event types, separated by commas." });

const PulledEvent = z.object({
  seq: z.int().meta({ description: "Its number in the organization's log." }),
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
    summary:
      "What webhooks would receive, for who cannot be reached: oldest first, from a number on",
    description:
      "Ask again with `since` set to `next`. Numbers count all events of the organization; those " +
      "that the caller may not read, or did not ask for, are passed over. No event comes twice, " +
      "none is missing. A `since` that the log does not reach, as after a backup was put back, or " +
      "whose next events are over their retention, is 410 with the number to go on from in " +
      "`details.next`.",
    access: { scope: READABLE_BY },
    effect: "read",
    query: z.strictObject({
      since: wholeNumber(0, Number.MAX_SAFE_INTEGER).prefault(0).meta({
        description: "`next` of the answer before.",
      }),
      limit: PageLimit,
      types: Types.optional(),
    }),
    success: {
      status: 200,
      body: z.object({
        events: z.array(PulledEvent),
        next: z.int().meta({ description: "The number of the last event that was looked at." }),
        head: z.int().meta({ description: "The number of the newest event there is." }),
        has_more: z.boolean(),
      }),
    },
    faults: ["GONE"],
    handle: (work, { query }, { epoch }) => pullEvents(work, epoch, query),
  }),
];
