import { deepStrictEqual as deq, ok } from "node:assert/strict";
import type { Page } from "playwright-core";
import { CHROMIUM, ConsoleTest, OWNER } from "./harness.ts";

const ignore = CHROMIUM === null;
/** Rows in the document at once, however long the list is. */
const DRAWN_MAX = 150;

const AGENT = {
  display_name: null,
  hostname: "host",
  labels: { env: "prod", role: "web" },
  relay_labels: {},
  reported_labels: {},
  reported_status: null,
  outdated: false,
  platform: "linux",
  policy_version: null,
  program: null,
  capabilities: [],
  status: "online",
  version: "0.1.0",
  connected_at: "2026-01-01T00:00:00Z",
  created_at: "2026-01-01T00:00:00Z",
  last_seen_at: "2026-01-01T00:00:00Z",
};

/** Answers the list of agents as a relay with `total` agents would. */
async function manyAgents(page: Page, total: number): Promise<void> {
  await page.route("**/api/v1/agents?*", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const offset = Number(query.get("offset"));
    const limit = Number(query.get("limit"));
    const agents = Array.from({ length: Math.min(limit, total - offset) }, (_, n) => ({
      ...AGENT,
      id: `agt_${offset + n}`,
      name: `machine-${offset + n}`,
    }));
    const pagination = { offset, limit, total, has_more: offset + limit < total };
    return route.fulfill({ json: { agents, pagination } });
  });
}

/** Scrolls to the end of the list, frame by frame, and says how long the frames took. */
const SCROLL = `(async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const took = [];
  let drawn = 0, before = await frame(), still = 0;
  while (still < 30) {
    const y = scrollY;
    scrollBy(0, 1500);
    const now = await frame();
    took.push(now - before);
    before = now;
    drawn = Math.max(drawn, document.querySelectorAll(".table .row").length);
    still = scrollY === y ? still + 1 : 0;
  }
  took.sort((a, b) => a - b);
  return {
    frames: took.length, drawn, over50: took.filter((ms) => ms > 50).length,
    p50: took[took.length >> 1], p99: took[Math.floor(took.length * .99)], most: took.at(-1),
  };
})()`;

interface Scrolled {
  readonly frames: number;
  readonly drawn: number;
  readonly over50: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

Deno.test(
  { name: "lists: 10,000 agents scroll to the end with few rows in the document", ignore },
  async () => {
    await using here = await ConsoleTest.start();
    await here.signUp();
    const person = await here.person();
    const page = await person.signIn(OWNER, "/settings");
    await manyAgents(page, 10_000);
    await page.getByRole("link", { name: "Agents", exact: true }).click();
    await page.getByText("machine-0", { exact: true }).waitFor();
    const { drawn, ...times } = await page.evaluate<Scrolled>(SCROLL);
    await page.getByText("machine-9999", { exact: true }).waitFor();
    ok(drawn < DRAWN_MAX, `${drawn} rows in the document`);
    // Other work on the machine makes frames longer, so these are printed and not judged.
    console.log(`10,000 agents: ${JSON.stringify({ drawn, ...times })}`);
    deq(person.complaints, []);
  },
);

/** Commands in the list: 10,000 unless RELAY_CONSOLE_ROWS says how many. */
const ROWS = Number(Deno.env.get("RELAY_CONSOLE_ROWS") ?? 10_000);

const COMMAND = {
  agent_id: "agt_1",
  approval_id: null,
  created_at: "2026-01-01T00:00:00Z",
  duration_ms: 12,
  exit_code: 0,
  finished_at: "2026-01-01T00:00:00Z",
  reason: null,
  risk_score: 0,
  verdict: "allow",
  signal: null,
  started_at: "2026-01-01T00:00:00Z",
  status: "succeeded",
  truncated: false,
  actor: "usr_1",
};

/** Answers the list of commands as a relay with `total` commands would. */
async function manyCommands(page: Page, total: number): Promise<void> {
  await page.route(
    "**/api/v1/agents/agt_1",
    (route) => route.fulfill({ json: { ...AGENT, id: "agt_1", name: "web-1" } }),
  );
  await page.route("**/api/v1/commands?*", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const from = Number(query.get("cursor") ?? 0);
    const limit = Number(query.get("limit") ?? 50);
    const commands = Array.from({ length: Math.min(limit, total - from) }, (_, n) => ({
      ...COMMAND,
      command_id: `cmd_${from + n}`,
      command: `echo command ${from + n}`,
    }));
    const cursor = from + limit < total ? `${from + limit}` : null;
    return route.fulfill({ json: { commands, cursor } });
  });
}

Deno.test({
  name: "lists: thousands of commands scroll to the end with few rows in the document",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/settings");
  await manyCommands(page, ROWS);
  await page.getByRole("link", { name: "Commands", exact: true }).click();
  await page.getByText("echo command 0", { exact: true }).waitFor();
  const { drawn, ...times } = await page.evaluate<Scrolled>(SCROLL);
  await page.getByText(`echo command ${ROWS - 1}`, { exact: true }).waitFor();
  ok(drawn < DRAWN_MAX, `${drawn} rows in the document`);
  console.log(`${ROWS} commands: ${JSON.stringify({ drawn, ...times })}`);
  deq(person.complaints, []);
});
