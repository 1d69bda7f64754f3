import { deepStrictEqual as deq, ok } from "node:assert/strict";
import type { CDPSession, Page } from "playwright-core";
import { CHROMIUM, ConsoleTest, OWNER } from "./browser/harness.ts";
import { expectStatus } from "../clients/status_client.ts";

/** How long the pages are watched, in seconds. */
const SECONDS = Number(Deno.env.get("RELAY_SOAK_SECONDS") ?? 300);
const EVENTS_PER_SECOND = 60;
const WARM_UP_MS = 60_000;
const LOOK_MS = 15_000;
/** What a page may hold more at the end than after its warm-up. */
const GROWTH_MIB = 4;
const PAGES = ["/", "/agents", "/commands", "/audit"];

interface Look {
  readonly afterS: number;
  readonly heapMiB: readonly number[];
  readonly nodes: readonly number[];
}

Deno.test({
  name: `soak: pages stay as small as they were during ${SECONDS} s of events`,
  ignore: CHROMIUM === null,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  await here.agent(owner, "web-1");
  const person = await here.person();
  const pages = [await person.signIn(OWNER, PAGES[0])];
  for (const path of PAGES.slice(1)) {
    const page = await person.page();
    await page.goto(`${here.url}/console${path}`);
    pages.push(page);
  }
  for (const page of pages) await page.getByText("Live", { exact: true }).first().waitFor();
  const sessions = await Promise.all(pages.map((page) => page.context().newCDPSession(page)));

  const startMs = performance.now();
  let events = 0, nextLookMs = WARM_UP_MS;
  const looks: Look[] = [];
  for (let sinceMs = 0; sinceMs < SECONDS * 1000; sinceMs = performance.now() - startMs) {
    const due = Math.floor(sinceMs / 1000 * EVENTS_PER_SECOND) - events;
    const renames = Array.from({ length: Math.max(0, due) }, (_, n) => rename(events + n));
    events += renames.length;
    await Promise.all(renames);
    if (sinceMs >= nextLookMs) {
      looks.push(await look(sessions, sinceMs));
      nextLookMs += LOOK_MS;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const [first, last] = [looks[0]!, looks.at(-1)!];
  console.log(`${events} events in ${SECONDS} s; MiB and nodes of ${PAGES.join(", ")}:`);
  for (const { afterS, heapMiB, nodes } of looks) {
    console.log(`${afterS} s: ${heapMiB.map((mib) => mib.toFixed(1)).join(" ")} | ${nodes}`);
  }
  for (const n of PAGES.keys()) {
    const growth = last.heapMiB[n]! - first.heapMiB[n]!;
    ok(growth < GROWTH_MIB, `${PAGES[n]} holds ${growth.toFixed(1)} MiB more than at the start`);
  }
  await showsTheLast(pages[1]!);
  deq(person.complaints, []);

  async function rename(n: number): Promise<void> {
    const labels = { labels: { round: `r${n}` } };
    expectStatus(await owner("PATCH", "/api/v1/agents/web-1", labels), 200, "labelling");
  }

  async function showsTheLast(page: Page): Promise<void> {
    await page.getByText(`r${events - 1}`).first().waitFor();
  }
});

/** What each page holds after its garbage is collected. */
async function look(sessions: readonly CDPSession[], sinceMs: number): Promise<Look> {
  const heapMiB: number[] = [], nodes: number[] = [];
  for (const session of sessions) {
    await session.send("HeapProfiler.collectGarbage");
    heapMiB.push((await session.send("Runtime.getHeapUsage")).usedSize / 2 ** 20);
    nodes.push((await session.send("Memory.getDOMCounters")).nodes);
  }
  return { afterS: Math.round(sinceMs / 1000), heapMiB, nodes };
}
