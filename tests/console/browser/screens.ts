import { ok } from "node:assert/strict";
import { type FirstDay, liveFirstDay } from "../../support/first_day.ts";
import { checkScreen, CHROMIUM, ConsoleTest, VIEWS } from "./harness.ts";

const ignore = CHROMIUM === null;
const MAIN = new URL("../../../main.ts", import.meta.url).href;
const TABLE = new URL("../../../console/app/screens.ts", import.meta.url);

/** The addresses of all screens, with the records of a first day in place of their parts. */
async function addresses(
  day: FirstDay,
  eventId: string,
): Promise<{ readonly open: string[]; readonly signedIn: string[] }> {
  const parts: Readonly<Record<string, string>> = {
    "/agents/:id": day.agent_id,
    "/commands/:id": day.commands.succeeded,
    "/approvals/:id": day.approval_id,
    "/policies/:id": day.policy_id,
    "/compliance/:id": day.report_id,
    "/webhooks/:id": day.webhook.id,
    "/keys/:id": day.keys.caller.id,
    "/alerts/:id": day.alert_id,
    "/audit/:id": eventId,
    "/policies/agents/:id": day.agent_id,
    "/policies/repositories/:id": day.repository_id,
  };
  const rows = (await Deno.readTextFile(TABLE)).split(/\n {2}\{\n/).slice(1);
  ok(rows.length > 20);
  const open: string[] = [], signedIn: string[] = [];
  for (const row of rows) {
    const path = /path: "([^"]+)"/.exec(row)![1]!;
    // It needs what a client asks for, and the test of clients opens it in every view.
    if (path === "/authorize") continue;
    const part = parts[/^.*?:id/.exec(path)?.[0] ?? ""];
    // A fleet command is made by the screen that runs commands, and its test opens it.
    if (path.includes(":") && part === undefined) {
      ok(path.startsWith("/fleet/"), `no record for ${path}`);
      continue;
    }
    const address = path.replace(":id", part ?? "").replace(":delivery", day.delivery_id);
    (row.includes("public: true") ? open : signedIn).push(address);
  }
  return { open, signedIn };
}

Deno.test({
  name:
    "screens: each is accessible, fits 390 and 1280 px, and complains of nothing, in both themes",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const day = await liveFirstDay(here.url, MAIN, here.folder);
  const log = await here.client(day.owner.token)<{ events: { event_id: string }[] }>(
    "GET",
    "/api/audit?limit=1",
  );
  const { open, signedIn } = await addresses(day, log.body.events[0]!.event_id);
  for (const { width, colorScheme } of VIEWS) {
    const viewport = { width, height: 844 };
    const stranger = await here.person({ viewport, colorScheme });
    const door = await stranger.page();
    for (const address of open) {
      await door.goto(`${here.url}/console${address}`);
      await checkScreen(stranger, door, `${address} at ${width} px, ${colorScheme}`);
    }
    const person = await here.person({ viewport, colorScheme });
    const page = await person.signIn(day.owner.email, "/", day.owner.password);
    for (const address of signedIn) {
      await page.goto(`${here.url}/console${address}`);
      await page.locator("main h1").first().waitFor();
      await checkScreen(person, page, `${address} at ${width} px, ${colorScheme}`);
    }
  }
});
