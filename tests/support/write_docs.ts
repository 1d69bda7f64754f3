import { eventsPage } from "../../core/events/trail/events_page.ts";
import { withSettingsTable } from "./settings_table.ts";

const docs = new URL("../../docs/", import.meta.url);

await Deno.writeTextFile(new URL("audit-events.md", docs), eventsPage());
const configuration = new URL("configuration.md", docs);
await Deno.writeTextFile(configuration, withSettingsTable(await Deno.readTextFile(configuration)));
