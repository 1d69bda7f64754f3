import {
  deepStrictEqual as deq,
  notStrictEqual as neq,
  ok,
  strictEqual as eq,
} from "node:assert/strict";
import { AUDIT_EVENTS } from "../../core/events/types/table.ts";
import type { AuditEventType } from "../../core/events/types/event.ts";
import { OWN_EVENTS } from "../../core/events/emit.ts";
import { EVENT_TYPES } from "../../core/events/types/webhook_events.ts";

const rows = Object.entries<AuditEventType>(AUDIT_EVENTS);

Deno.test("AUDIT_EVENTS: every type has a meaning and an example that its schema accepts unchanged", () => {
  for (const [type, { meaning, details, example }] of rows) {
    neq(meaning, "", type);
    ok(!meaning.includes("|"), `${type} would end a cell of the table`);
    deq(details.parse(JSON.parse(JSON.stringify(example))), example, type);
  }
});

Deno.test("OWN_EVENTS: a type whose name says a refusal or a failure has that result", () => {
  for (const [type, { result = "success" }] of Object.entries(OWN_EVENTS)) {
    if (typeof result === "function") continue;
    const denied = /_(refused|denied|mismatch)$/.test(type);
    const failed = /_failed$/.test(type) || type === "command_timeout";
    eq(result, denied ? "denied" : failed ? "failure" : "success", type);
  }
});

Deno.test("AUDIT_EVENTS: extra or missing fields of details are refused", () => {
  for (const [type, { details, example }] of rows) {
    eq(details.safeParse({ ...example, surprise: 1 }).success, false, type);
    for (const [field, schema] of Object.entries(details.shape)) {
      const { [field]: _, ...rest } = example;
      const optional = schema.safeParse(undefined).success;
      if (optional && field in example) deq(details.parse(rest), rest, `${type} with ${field}`);
      if (!optional) eq(details.safeParse(rest).success, false, `${type} without ${field}`);
    }
  }
});

Deno.test("OWN_EVENTS: contains the types of webhooks and those of the audit log, each once", () => {
  const types = [...Object.keys(AUDIT_EVENTS), ...EVENT_TYPES];
  deq(Object.keys(OWN_EVENTS).sort(), types.sort());
  eq(new Set(types).size, types.length);
});
