import { UsageError } from "../arguments.ts";
import type { Call, Run } from "./command.ts";
import { loginUrl, NotSignedInError } from "./target.ts";

/** Where the console shows a thing, by the first letters of its id. */
const PAGES: Readonly<Record<string, string>> = {
  agt: "agents",
  alr: "alerts",
  cmd: "commands",
  flt: "fleet",
  key: "keys",
  pol: "policies",
  prc: "approvals",
  rep: "compliance",
  whk: "webhooks",
};

/** `relay open` */
export const open: Run = async (call) => {
  const { args: [id], host, out } = call;
  const url = `${consoleOf(urlOf(call))}${pathOf(id)}`;
  await out.item({ url }, url, [["console", url]]);
  if (!host.interactive || out.format !== "table") return;
  if (!host.browse(url)) await out.note("No browser could be started here. Open it yourself.");
};

/** The address of a relay's console. */
export const consoleOf = (url: string): string => `${url}/console`;

/** The relay that commands use; without a sign-in, the one that a sign-in would go to. */
function urlOf({ target, text, host }: Call): string {
  try {
    return target().url;
  } catch (error) {
    if (!(error instanceof NotSignedInError) || text("profile") !== undefined) throw error;
    return loginUrl(text("url"), host);
  }
}

/** @throws {UsageError} for an id of nothing that has a page */
function pathOf(id: string | undefined): string {
  if (id === undefined) return "";
  const [, kind = ""] = /^([a-z]{3})_[0-9a-z]+$/.exec(id) ?? [];
  if (PAGES[kind] !== undefined) return `/${PAGES[kind]}/${id}`;
  throw new UsageError(
    `The console has no page for ${JSON.stringify(id)}. Give the id of an agent, an alert, a ` +
      "command, an approval, a policy, a key, a report or a webhook.",
  );
}
