import type { Sequenced } from "../../../kv/log/log.ts";
import { iso } from "../../codec/codec.ts";
import type { DetailsOf, EventRow } from "../emit.ts";
import type { ResourceType } from "../types/resources.ts";
import type { Result } from "../types/event.ts";
import { resultOf } from "./result.ts";

/** The conditions of an audit query. Instants are in ms; all conditions must hold. */
export interface AuditFilter {
  readonly startMs?: number | undefined;
  readonly endMs?: number | undefined;
  /** The agent concerned. */
  readonly agent_id?: string | undefined;
  /** Any of these types. */
  readonly event_type?: readonly string[] | undefined;
  readonly actor?: string | undefined;
  readonly resource_type?: ResourceType | undefined;
  readonly resource_id?: string | undefined;
  readonly result?: Result | undefined;
  /** The alert whose story is wanted. */
  readonly thread?: string | undefined;
  /** A substring of the details' JSON, ignoring case. */
  readonly text?: string | undefined;
}

/** An event with its sequence number in the organization's log. */
export type AuditEvent = EventRow & { readonly seq: number };

/** An event of the log as responses show it. */
export const showEvent = ({ seq, json }: Sequenced): AuditEvent => ({
  seq,
  ...JSON.parse(json) as EventRow,
});

/** A filter as audit rows and signed notes record it. */
export function describe(
  { startMs, endMs, event_type, ...rest }: AuditFilter,
): Record<string, string> {
  const chosen = {
    ...(event_type !== undefined && { event_type: event_type.join(",") }),
    ...(startMs !== undefined && { start_time: iso(startMs) }),
    ...(endMs !== undefined && { end_time: iso(endMs) }),
  };
  const others = Object.entries(rest).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(others), ...chosen };
}

/** True when an event fulfils every condition. */
export function matches(event: EventRow, filter: AuditFilter): boolean {
  const atMs = Date.parse(event.timestamp);
  return (filter.startMs === undefined || atMs >= filter.startMs) &&
    (filter.endMs === undefined || atMs <= filter.endMs) &&
    (filter.event_type?.includes(event.event_type) ?? true) &&
    (["agent_id", "actor", "resource_type", "resource_id"] as const)
      .every((name) => filter[name] === undefined || filter[name] === event[name]) &&
    (filter.result === undefined || filter.result === resultOf(event)) &&
    (filter.thread === undefined || isInThread(event, filter.thread)) &&
    (filter.text === undefined || containsText(event, filter.text));
}

/** True when an event carries the thread, concerns its alert, or reports that it was raised or ended. */
function isInThread({ details, ...row }: EventRow, thread: string): boolean {
  if (row.thread === thread || row.resource_type === "alert" && row.resource_id === thread) {
    return true;
  }
  if (row.event_type !== "alerts_ingested") return false;
  const { raised = [], ended = [] } = details as DetailsOf<"alerts_ingested">;
  return [...raised, ...ended].some(({ alert_id }) => alert_id === thread);
}

/** True when a name or value in the details contains the text, ignoring case. */
const containsText = ({ details }: EventRow, text: string): boolean =>
  JSON.stringify(details).toLowerCase().includes(textInJson(text));

/** A text as it appears inside JSON, in lower case. */
export const textInJson = (text: string): string => JSON.stringify(text).slice(1, -1).toLowerCase();
