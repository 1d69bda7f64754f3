import { UsageError } from "../arguments.ts";
import type { Run } from "./command.ts";

/** Where the console shows a thing, by the first letters of its id. */
const PAGES: Readonly<Record<string, string>> = {
  agt: "agents",
  cmd: "commands",
  flt: "fleet",
  key: "keys",
  pol: "policies",
  prc: "approvals",
  rep: "compliance",
  whk: "webhooks",
};

/** `relay open` */
export const open: Run = async ({ args: [id], host, out, target }) => {
  const url = new URL(pathOf(id), target().url).href;
  await out.item({ url }, url, [["console", url]]);
  if (!host.interactive || out.format !== "table") return;
  if (!await host.browse(url)) {
    await out.note("No browser could be started here. Open it yourself.");
  }
};

/** @throws {UsageError} for an id of nothing that has a page */
function pathOf(id: string | undefined): string {
  if (id === undefined) return "/console";
  const [, kind = ""] = /^([a-z]{3})_[0-9a-z]+$/.exec(id) ?? [];
  if (PAGES[kind] !== undefined) return `/console/${PAGES[kind]}/${id}`;
  throw new UsageError(
    `The console has no page for ${JSON.stringify(id)}. Give the id of an agent, a command, an ` +
      "approval, a policy, a key, a report or a webhook.",
  );
}
