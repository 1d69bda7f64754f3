import { deepStrictEqual as deq } from "node:assert/strict";
import type { Page, Route } from "playwright-core";
import { expectStatus } from "../../clients/status_client.ts";
import { CHROMIUM, ConsoleTest, OWNER } from "./harness.ts";

const ignore = CHROMIUM === null;

/** Answers searches for agents as a relay with these would, but not while answers are held. */
async function agentsNamed(page: Page, names: readonly string[]) {
  const open = { promise: Promise.resolve(), resolve: () => {} };
  let gate: { readonly promise: Promise<void>; readonly resolve: () => void } = open;
  await page.route("**/api/v1/agents?*", async (route) => {
    await gate.promise;
    const query = new URL(route.request().url()).searchParams;
    const agents = names.filter((name) => name.includes(query.get("text") ?? ""))
      .map((name) => ({ id: `agt_${name}`, name, status: "online", labels: {} }));
    const pagination = { offset: 0, limit: 200, total: agents.length, has_more: false };
    await route.fulfill({ json: { agents, pagination } });
  });
  return {
    hold: () => void (gate = Promise.withResolvers<void>()),
    release: () => gate.resolve(),
  };
}

Deno.test({
  name: "run: Enter picks nothing that was found for an earlier text, and quick picks add up",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/run");
  const answers = await agentsNamed(page, ["db-1", "web-1", "web-2"]);
  const field = page.getByRole("combobox", { name: "Agents" });
  await field.click();
  await page.getByRole("option", { name: "All agents" }).waitFor();
  await page.getByLabel("Command", { exact: true }).fill("true");
  answers.hold();
  await field.fill("web-2");
  await field.press("Enter");
  deq(await page.getByRole("list", { name: "Picked agents" }).count(), 0);
  answers.release();
  await page.getByRole("option", { name: "db-1" }).waitFor({ state: "detached" });
  await field.press("Enter");
  await page.getByRole("button", { name: "Run on web-2", exact: true }).waitFor();

  await page.getByRole("option", { name: "web-1" }).waitFor();
  // Both clicks come before another answer.
  await page.evaluate(`for (const name of ["web-1", "db-1"]) {
    [...document.querySelectorAll("[role=option]")].find((one) => one.innerText.includes(name))
      .dispatchEvent(new MouseEvent("mousedown", { bubbles: true, cancelable: true }));
  }`);
  await page.getByRole("button", { name: "Run on web-2, web-1, db-1" }).waitFor();
  deq(person.complaints, []);
});

Deno.test({
  name:
    "agent: it shows what its program may do, follows a rename, and a late deletion does not lead away",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  await here.agent(owner, "web-1");
  const person = await here.person();
  const page = await person.signIn(OWNER, "/agents/web-1");
  await page.getByText("follows a rotation of the verdict key").waitFor();
  await page.getByText("Live", { exact: true }).first().waitFor();
  const name = page.getByLabel("Name", { exact: true });
  deq(await name.inputValue(), "web-1");
  const renaming = await owner("PATCH", "/api/v1/agents/web-1", { name: "web-9" });
  expectStatus(renaming, 200, "renaming");
  await page.getByRole("heading", { name: "web-9" }).waitFor();
  deq(await name.inputValue(), "web-9");

  const held = Promise.withResolvers<Route>();
  await page.route("**/api/v1/agents/agt_*", (route) => {
    if (route.request().method() === "DELETE") held.resolve(route);
    else route.continue();
  });
  await page.getByRole("button", { name: "Delete the agent" }).click();
  await page.getByRole("button", { name: "Delete the agent" }).click();
  const route = await held.promise;
  await page.getByRole("link", { name: "Commands", exact: true }).click();
  await page.getByRole("heading", { name: "Commands", exact: true }).waitFor();
  const answered = page.waitForResponse((answer) => answer.request().method() === "DELETE");
  await route.continue();
  await answered;
  await page.evaluate("new Promise(requestAnimationFrame)");
  deq(new URL(page.url()).pathname, "/console/commands");
  deq(person.complaints, []);
});

/** Answers a search of commands with `count` pages without rows, and then with one command. */
async function emptyPages(page: Page, count: number): Promise<void> {
  const found = {
    command_id: "cmd_old",
    command: "uname -a",
    status: "succeeded",
    agent_id: "agt_gone",
    verdict: "allow",
    actor: "usr_gone",
    exit_code: 0,
    signal: null,
    reason: null,
    duration_ms: 1,
    created_at: "2026-01-01T00:00:00Z",
  };
  await page.route("**/api/v1/commands?*", (route) => {
    const at = Number(new URL(route.request().url()).searchParams.get("cursor") ?? 0);
    const isLast = at === count;
    const json = { commands: isLast ? [found] : [], cursor: isLast ? null : `${at + 1}` };
    return route.fulfill({ json });
  });
}

Deno.test({
  name: "run and commands: what is typed is what counts, and a search that stopped can go on",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/run");
  await page.getByText("Options", { exact: true }).click();
  const timeout = page.getByLabel("Timeout in seconds");
  await timeout.fill("9999");
  await timeout.press("Tab");
  deq(await timeout.inputValue(), "600");
  const command = page.getByLabel("Command", { exact: true });
  await command.focus();
  // A command that was cut silently would be another command.
  await page.keyboard.insertText("x".repeat(20_000));
  deq((await command.inputValue()).length, 20_000);

  await emptyPages(page, 25);
  await page.goto(`${here.url}/console/commands?text=uname`);
  await page.getByText("Older commands were not searched yet.").waitFor();
  deq(await page.getByText("No such commands").count(), 0);
  await page.getByRole("button", { name: "Search further back" }).click();
  await page.getByRole("link", { name: "uname -a" }).waitFor();
  deq(await page.getByRole("button", { name: "Search further back" }).count(), 0);
  deq(person.complaints.filter((one) => !/status of 404/.test(one)), []);
});
