import { eventsPage } from "./events_page.ts";
import { contractText } from "./contract.ts";

const write = (name: string, text: string) =>
  Deno.writeTextFile(new URL(`../../docs/${name}`, import.meta.url), text);

await write("audit-events.md", eventsPage());
await write("openapi.json", contractText());
