import {
  CHANGED,
  COMMAND_STARTED,
  EVENT_TYPES,
  MESSAGE_ID,
  NOTIFICATION,
  type StreamFilter,
} from "../../core/events/events.ts";
import { z } from "zod";
import { AgentFilter, commaList, Severity, Thread } from "./schemas.ts";

const Types = commaList([...EVENT_TYPES, NOTIFICATION, COMMAND_STARTED, CHANGED], 2000).meta({
  description:
    "Event types, `notification`, `command_started` or `changed`, separated by commas. " +
    "Without it, a stream has all of them but `changed`.",
  examples: ["command_executed"],
});

/** The query of an event stream. */
export const StreamQuery = z.strictObject({
  types: Types.optional(),
  agent_id: AgentFilter.optional(),
  thread: Thread.optional(),
  severity: Severity.optional().meta({ description: "The minimum severity." }),
  last_event_id: z.string().regex(MESSAGE_ID, "must be <name>:<number>").optional().meta({
    description: "The id to resume after; the header `Last-Event-ID` takes precedence.",
  }),
});

/** The checked query. */
export type StreamChoice = z.output<typeof StreamQuery>;

/** The filter of a stream with this query. */
export const filterOf = (
  { types, agent_id, thread, severity }: Omit<StreamChoice, "last_event_id">,
): StreamFilter => ({ types: types && new Set(types), agentId: agent_id, thread, severity });
