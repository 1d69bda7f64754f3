import { clientOperations, clientTypes } from "../client/client_source.ts";
import { withCommands } from "../cli/remote/page.ts";
import { withInstallLinks } from "../mcp/install_links.ts";
import { consoleFiles } from "../console/console_files.ts";
import { guideFiles } from "../console/guide_files.ts";
import { contractText } from "./contract.ts";
import { eventsPage } from "./events_page.ts";
import { withSettingsTables } from "./settings_table.ts";

const docs = new URL("../../docs/", import.meta.url);
const write = (name: string, text: string) => Deno.writeTextFile(new URL(name, docs), text);

await write("audit-events.md", eventsPage());
const contract = contractText();
await write("openapi.json", contract);
await write("../core/client/types.ts", await clientTypes(contract));
await write("../core/client/operations.ts", await clientOperations(contract));
const configuration = await Deno.readTextFile(new URL("configuration.md", docs));
await write("configuration.md", withSettingsTables(configuration));
const commands = await Deno.readTextFile(new URL("cli.md", docs));
await write("cli.md", withCommands(commands));
const mcp = await Deno.readTextFile(new URL("mcp.md", docs));
await write("mcp.md", withInstallLinks(mcp));
await write("../console/files.ts", await consoleFiles());
await write("../console/guides/files.ts", await guideFiles());
