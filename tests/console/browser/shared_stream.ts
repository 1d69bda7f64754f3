import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import type { Page } from "playwright-core";
import { type Client, expectStatus } from "../../clients/status_client.ts";
import { CHROMIUM, ConsoleTest, OWNER, PASSWORD, type Person, STEP_MS } from "./harness.ts";

const ignore = CHROMIUM === null;
const CUT_MS = 20_000;
const TABS = 10;

const isLive = (page: Page) => page.locator(".link.live").waitFor();

/** Signs in and opens so many tabs of one browser, all live. */
async function openTabs(person: Person, count: number): Promise<Page[]> {
  const pages = [await person.signIn(OWNER, "/agents")];
  while (pages.length < count) {
    const page = await person.page();
    await page.goto(`${person.url}/console/agents`);
    pages.push(page);
  }
  await Promise.all(pages.map(isLive));
  return pages;
}

/** The event streams that the relay has open, followed outputs included. */
async function streams(page: Page): Promise<number> {
  const text = await page.evaluate<string>(`fetch("/metrics").then((answer) => answer.text())`);
  return Number(/^relay_event_streams_open (\d+)/m.exec(text)![1]);
}

/** Waits until the relay has so many streams open. */
async function streamsAre(page: Page, count: number): Promise<void> {
  const endMs = performance.now() + STEP_MS;
  while (await streams(page) !== count && performance.now() < endMs) {
    await page.waitForTimeout(50);
  }
  eq(await streams(page), count);
}

async function firstAgent(owner: Client): Promise<string> {
  const { agents } = (await owner<{ agents: { id: string }[] }>("GET", "/api/v1/agents")).body;
  return agents[0]!.id;
}

/** Gives the agent a label, and waits until every page shows it. */
async function seeLabel(owner: Client, value: string, pages: readonly Page[]): Promise<void> {
  const path = `/api/v1/agents/${await firstAgent(owner)}`;
  const startMs = performance.now();
  expectStatus(await owner("PATCH", path, { labels: { seen: value } }), 200, "changing labels");
  await Promise.all(pages.map((page) => page.getByText(`seen=${value}`).waitFor()));
  const ms = Math.round(performance.now() - startMs);
  // Other work on the machine slows browsers down, so this is printed and not judged.
  console.log(`${pages.length} tabs show a change after ${ms} ms`);
}

/** Follows a command in a page, which keeps what it is told. */
const follow = (page: Page, agentId: string, commandId: string) =>
  page.evaluate(`import(document.body.dataset.worker.replace("worker.ts", "live.ts"))
    .then(({ followOutput }) => {
      const told = globalThis.told = { text: "", end: Promise.withResolvers() };
      followOutput(${JSON.stringify({ agentId, commandId, from: 0 })}, ({ type, data }) => {
        if (type === "output") told.text += data.data;
        else if (type !== "status") told.end.resolve(type + " " + data.status);
      });
    })`);

async function run(owner: Client, agent: string, command: string): Promise<string> {
  const path = `/api/v1/agents/${agent}/commands`;
  const answer = await owner<{ command_id: string }>("POST", path, { command, timeout: 60 });
  return expectStatus(answer, 202, "running a command").command_id;
}

Deno.test(
  {
    name: "shared stream: ten tabs open one, and one again after a cut of 20 s",
    ignore,
  },
  async () => {
    await using here = await ConsoleTest.start();
    const owner = await here.signUp();
    await here.agent(owner, "web-1");
    const person = await here.person();
    const pages = await openTabs(person, TABS);
    eq(await streams(pages[0]!), 1);
    await seeLabel(owner, "first", pages);
    await here.without(async () => {
      await Promise.all(pages.map((page) => page.locator(".link.lost").waitFor()));
      await pages[0]!.waitForTimeout(CUT_MS);
    });
    // The lists are fetched again once the link is there, so they have what changed before.
    await seeLabel(owner, "second", pages);
    await Promise.all(pages.map(isLive));
    eq(await streams(pages[0]!), 1);
  },
);

Deno.test(
  {
    name: "shared stream: tabs follow an output together, and a tab that crashes is noticed",
    ignore,
  },
  async () => {
    await using here = await ConsoleTest.start();
    const owner = await here.signUp();
    await here.agent(owner, "web-1");
    const person = await here.person();
    const [one, two, crashing] = await openTabs(person, 3) as [Page, Page, Page];
    const agent = await firstAgent(owner);
    const shared = await run(owner, agent, "seq 1 40000; sleep 2; echo end");
    for (const page of [one, two]) await follow(page, agent, shared);
    await follow(crashing, agent, await run(owner, agent, "sleep 50"));
    await streamsAre(one, 3);
    crashing.goto("chrome://crash").catch(() => {});
    await streamsAre(one, 2);
    const output = Array.from({ length: 40_000 }, (_, n) => `${n + 1}\n`).join("") + "end\n";
    for (const page of [one, two]) {
      eq(await page.evaluate("told.end.promise"), "result succeeded");
      eq(await page.evaluate("told.text"), output);
    }
    await streamsAre(one, 1);
  },
);

Deno.test(
  { name: "shared stream: a sign-in after the session's end brings every tab back", ignore },
  async () => {
    await using here = await ConsoleTest.start();
    const owner = await here.signUp();
    await here.agent(owner, "web-1");
    const person = await here.person();
    const pages = await openTabs(person, 2);
    await pages[0]!.evaluate(`fetch("/api/v1/console-session", { method: "DELETE" })`);
    const dialogs = pages.map((page) => page.getByRole("dialog"));
    await Promise.all(dialogs.map((dialog) => dialog.waitFor()));
    await dialogs[1]!.getByLabel("Password").fill(PASSWORD);
    await dialogs[1]!.getByRole("button", { name: "Sign in" }).click();
    await Promise.all(dialogs.map((dialog) => dialog.waitFor({ state: "detached" })));
    await seeLabel(owner, "again", pages);
    deq(person.complaints, []);
  },
);

Deno.test(
  { name: "shared stream: a browser without SharedWorker has a stream for each tab", ignore },
  async () => {
    await using here = await ConsoleTest.start();
    const owner = await here.signUp();
    await here.agent(owner, "web-1");
    const person = await here.person();
    await person.context.addInitScript("delete globalThis.SharedWorker");
    const pages = await openTabs(person, 2);
    eq(await streams(pages[0]!), 2);
    await seeLabel(owner, "seen", pages);
    deq(person.complaints, []);
  },
);
