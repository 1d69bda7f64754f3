import { ok, strictEqual as eq } from "node:assert/strict";
import { eventsPage } from "../../core/audit/events_page.ts";
import { AUDIT_EVENTS } from "../../core/events.ts";
import { WEBHOOK_EVENTS } from "../../core/webhooks/event_types.ts";

Deno.test("docs/audit-events.md: is what deno task docs writes, and names every event", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/audit-events.md", import.meta.url));
  eq(page, eventsPage());
  for (const type of [...Object.keys(AUDIT_EVENTS), ...Object.keys(WEBHOOK_EVENTS)]) {
    ok(page.includes(`\`${type}\``), type);
  }
});
