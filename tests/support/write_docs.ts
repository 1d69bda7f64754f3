import { eventsPage } from "./events_page.ts";

await Deno.writeTextFile(new URL("../../docs/audit-events.md", import.meta.url), eventsPage());
