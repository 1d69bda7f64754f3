import { deepStrictEqual as deq, match } from "node:assert/strict";
import type { Page } from "playwright-core";
import { CHROMIUM, ConsoleTest, OWNER, PASSWORD } from "./harness.ts";

const ignore = CHROMIUM === null;
const GRACE = "grace@example.com";

/** A stranger's first minutes, in browsers only: no call of the API beside theirs. */
Deno.test({
  name: "first day: from a fresh relay to a command on a machine that a second person approved",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const began = performance.now();
  const ada = await here.person();
  const page = await ada.page();
  await page.goto(here.url);
  await page.getByRole("heading", { name: "Set up this relay" }).waitFor();
  await page.getByLabel("Organization").fill("Acme");
  await page.getByLabel("E-mail").fill(OWNER);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Claim the relay and sign in" }).click();
  await page.locator("header.top").waitFor();

  await page.goto(`${here.url}/console/agents/add`);
  await page.getByLabel("Name").fill("web-1");
  await page.getByRole("button", { name: "Create the pairing code" }).click();
  const line = await page.locator("main pre").first().textContent();
  const [code] = /[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}/.exec(line!) ?? [];
  match(code ?? "", /./, `a code in ${line}`);
  await here.agentWith(code!, "web-1");
  await page.getByText(/is here/).first().waitFor();

  await run(page, here.url, "echo hello from $((6 * 7))");
  await page.getByText("hello from 42").first().waitFor();

  await page.goto(`${here.url}/console/people?invite=1`);
  const form = page.getByRole("form", { name: "Invite a person" });
  await form.getByLabel("E-mail").fill(GRACE);
  await form.getByLabel("operator").check();
  await form.getByRole("button", { name: "Make the invitation" }).click();
  const link = await page.getByText(/\/console\/join#/).first().textContent();

  const grace = await here.person({ viewport: { width: 390, height: 844 }, hasTouch: true });
  const theirs = await grace.page();
  await theirs.goto(link!.trim());
  await theirs.getByText("You are invited to Acme").waitFor();
  deq(await theirs.getByLabel("E-mail").inputValue(), GRACE);
  await theirs.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await theirs.getByRole("button", { name: "Join and sign in" }).click();
  await theirs.locator("header.top").waitFor();
  deq(await theirs.evaluate("location.hash"), "");

  await run(page, here.url, `chmod -R 777 ${here.folder}/none; echo approved`);
  await page.getByRole("link", { name: /approv/i }).first().waitFor();
  await theirs.goto(`${here.url}/console/approvals`);
  await theirs.getByText("chmod -R 777").first().tap();
  await theirs.getByRole("button", { name: "Approve…" }).tap();
  await theirs.getByRole("button", { name: /^Approve and/ }).tap();
  // The first person's page goes on by itself.
  await page.locator(".terminal").getByText("approved").first().waitFor();
  console.log(`the first day took ${Math.round(performance.now() - began)} ms`);
  deq([...ada.complaints, ...grace.complaints], []);
});

async function run(page: Page, url: string, command: string): Promise<void> {
  await page.goto(`${url}/console/run`);
  await page.getByRole("combobox", { name: "Agents" }).fill("web-1");
  await page.getByRole("option", { name: /web-1/ }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.getByLabel("Command").fill(command);
  await page.getByRole("button", { name: /^Run on/ }).click();
}
