import { MESSAGE_ID } from "../../core/events/streams/message.ts";
import { z } from "zod";
import { NOTIFICATION } from "../../core/events/streams/notification.ts";
import type { StreamFilter } from "../../core/events/streams/stream.ts";
import { EVENT_TYPES } from "../../core/events/types/webhook_events.ts";
import { commaList, Id, Severity } from "./schemas.ts";

const Types = commaList([...EVENT_TYPES, NOTIFICATION], 2000).meta({
  description: "Event types, and `notification`, separated by commas.",
  examples: ["command_executed"],
});

/** The query of an event stream. */
export const StreamQuery = z.strictObject({
  types: Types.optional(),
  agent_id: Id.optional(),
  severity: Severity.optional().meta({ description: "At least this one." }),
  last_event_id: z.string().regex(MESSAGE_ID, "must be <name>:<number>").optional().meta({
    description: "Where to go on; the header `Last-Event-ID` says the same and wins.",
  }),
});

/** The checked query. */
export type StreamChoice = z.output<typeof StreamQuery>;

/** The filter of a stream with this query. */
export const filterOf = (
  { types, agent_id, severity }: Omit<StreamChoice, "last_event_id">,
): StreamFilter => ({ types: types && new Set(types), agentId: agent_id, severity });
