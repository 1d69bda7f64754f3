import { z } from "zod";
import { EVENT_TYPES, WEBHOOK_EVENTS } from "../../events/events.ts";

const catalogue = EVENT_TYPES.map((name) => {
  const { category, meaning, scope, payload, example } = WEBHOOK_EVENTS[name];
  const schema = z.toJSONSchema(payload) as Record<string, unknown>;
  return { name, category, description: meaning, scope, schema, example };
});

/** Every event type that a webhook may subscribe to, with the JSON Schema of its payload. */
export const listEventTypes = () => ({ event_types: catalogue });
