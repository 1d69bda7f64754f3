import { deepStrictEqual as deq, ok } from "node:assert/strict";
import type { Page } from "playwright-core";
import { CHROMIUM, ConsoleTest, OWNER } from "./harness.ts";
import { expectStatus } from "../../clients/status_client.ts";

const ignore = CHROMIUM === null;
/** What the console promises: a list is true within a second. */
const LIVE_MS = 1_000;

/** When each page shows a text, in ms after now. */
const shownAfter = async (pages: readonly Page[], text: string): Promise<number[]> => {
  const startMs = performance.now();
  return await Promise.all(pages.map(async (page) => {
    await page.getByText(text, { exact: true }).first().waitFor();
    return Math.round(performance.now() - startMs);
  }));
};

Deno.test({
  name: "live: ten tabs of one browser share a connection, and all show a change",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  await here.agent(owner, "web-1");
  const person = await here.person();
  const pages = [await person.signIn(OWNER, "/agents")];
  while (pages.length < 10) {
    const page = await person.page();
    await page.goto(`${here.url}/console/agents`);
    pages.push(page);
  }
  for (const page of pages) await page.getByText("Live", { exact: true }).first().waitFor();
  expectStatus(await owner("PATCH", "/api/v1/agents/web-1", { name: "web-9" }), 200, "renaming");
  const times = await shownAfter(pages, "web-9");
  console.log(`ten tabs showed the change after ${times.join(", ")} ms (promised: ${LIVE_MS})`);
  deq(person.complaints, []);
});

Deno.test({
  name: "live: a page says that it is not live, and catches up when the relay is back",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  await here.agent(owner, "web-1");
  const person = await here.person();
  const page = await person.signIn(OWNER, "/agents");
  await page.getByText("Live", { exact: true }).first().waitFor();
  await here.without(async () => {
    await page.getByText("Not live: reconnecting…").waitFor();
    // The agent is away too, so its name stays on the page until the relay is back.
    ok(await page.getByText("web-1", { exact: true }).isVisible());
  });
  await page.getByText("Live", { exact: true }).first().waitFor();
  expectStatus(await owner("PATCH", "/api/v1/agents/web-1", { name: "web-9" }), 200, "renaming");
  const [ms] = await shownAfter([page], "web-9");
  console.log(`after the relay was back, a change was shown after ${ms} ms`);
});
