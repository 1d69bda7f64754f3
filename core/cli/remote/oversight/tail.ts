import type { Severity, WebhookDelivery } from "../../../client/client.ts";
import { UsageError } from "../../arguments.ts";
import type { Run } from "../command.ts";

type Event = Omit<WebhookDelivery, "delivery_id">;

const TYPE_WIDTH = 20;
const PAYLOAD_CHARS_SHOWN = 200;

/** `relay audit tail` */
export const tailEvents: Run = async ({ relay, text, number, list, host, out }) => {
  const count = number("count");
  if (count === 0) throw new UsageError("The option --count needs a number from 1 on.");
  const stopped = new AbortController();
  const forget = host.onInterrupt(() => stopped.abort());
  let position = text("after") ?? null, left = count ?? Infinity;
  try {
    const events = relay().stream("events.stream", {
      query: {
        types: list("type").join(",") || undefined,
        agent_id: text("agent"),
        thread: text("thread"),
        severity: text("severity") as Severity | undefined,
      },
      ...position !== null && { lastEventId: position },
      signal: stopped.signal,
    });
    for await (const { event, id, data } of events) {
      if (event === "hello" && position !== null) {
        const { recovered } = data as { readonly recovered: boolean };
        if (!recovered) await out.note("Events are missing here. Read them with relay audit ls.");
      }
      position = id ?? position;
      if (event !== "event") continue;
      const row = data as Event;
      await out.entry(row, row.event_id, lineOf(row));
      if (--left === 0) break;
    }
  } finally {
    forget();
  }
  if (position !== null) await out.note(`Go on from here: relay audit tail --after ${position}`);
};

function lineOf({ timestamp, event_type, agent_id, payload }: Event): string {
  const shown = JSON.stringify(payload);
  const cut = shown.length > PAYLOAD_CHARS_SHOWN;
  const details = cut ? `${shown.slice(0, PAYLOAD_CHARS_SHOWN).toWellFormed()}…` : shown;
  return [timestamp, event_type.padEnd(TYPE_WIDTH), agent_id ?? "-", details].join("  ");
}
