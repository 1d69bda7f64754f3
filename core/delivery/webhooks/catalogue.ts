import { z } from "zod";
import { EVENT_TYPES, WEBHOOK_EVENTS } from "../../events/events.ts";

const describeTypes = () =>
  EVENT_TYPES.map((name) => {
    const { category, meaning, scope, payload, example } = WEBHOOK_EVENTS[name];
    const schema = z.toJSONSchema(payload) as Record<string, unknown>;
    return { name, category, description: meaning, scope, schema, example };
  });
let catalogue: ReturnType<typeof describeTypes> | null = null;

/** Every event type that a webhook may subscribe to, with the JSON Schema of its payload. */
export const listEventTypes = () => ({ event_types: catalogue ??= describeTypes() });
