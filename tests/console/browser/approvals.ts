import { deepStrictEqual as deq, match } from "node:assert/strict";
import type { Page } from "playwright-core";
import { type Client, expectStatus } from "../../clients/status_client.ts";
import { CHROMIUM, ConsoleTest, OWNER, PASSWORD } from "./harness.ts";

const ignore = CHROMIUM === null;
const APPROVER = "grace@example.com";
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

interface Held {
  readonly approval_id: string;
  readonly command_id: string;
}

/** A second person who may decide, and a command that waits for them and would leave a file. */
async function heldCommand(here: ConsoleTest, owner: Client): Promise<Held & { file: string }> {
  const file = `${here.folder}/ran`;
  const command = `chmod -R 777 ${here.folder}/none; touch ${file}`;
  const body = { command };
  const answer = await owner<Held>("POST", "/api/v1/agents/web-1/commands", body);
  return { ...expectStatus(answer, 202, "asking"), file };
}

async function inviteApprover(here: ConsoleTest, owner: Client): Promise<void> {
  const invited = await owner<{ invite_code: string }>("POST", "/api/v1/invitations", {
    email: APPROVER,
    roles: ["operator"],
  });
  const { invite_code } = expectStatus(invited, 201, "inviting");
  const joining = { email: APPROVER, password: PASSWORD, invite_code };
  expectStatus(await here.client()("POST", "/api/v1/signup", joining), 201, "joining");
}

const sizeOf = async (page: Page, name: string) =>
  (await page.getByRole("button", { name }).first().boundingBox())!;

Deno.test({
  name: "approvals: decided by touch on a phone, and a real agent runs the command",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  await here.agent(owner, "web-1");
  await inviteApprover(here, owner);
  const { approval_id, command_id, file } = await heldCommand(here, owner);
  const grace = await here.person(PHONE);
  const page = await grace.signIn(APPROVER, `/approvals/${approval_id}`);
  await page.getByRole("button", { name: "Approve…" }).waitFor();
  const { width, height } = await sizeOf(page, "Approve…");
  deq([width >= 44, height >= 44], [true, true], "thumb-sized");
  await page.getByRole("button", { name: "Approve…" }).tap();
  await page.getByRole("button", { name: /^Approve (and|the)/ }).tap();
  // The page shows the command to its end.
  await page.getByText("succeeded").first().waitFor();
  const path = `/api/v1/agents/web-1/commands/${command_id}`;
  const { body } = await owner<{ exit_code: number }>("GET", path);
  deq([body.exit_code, (await Deno.stat(file)).isFile], [0, true]);
  deq(grace.complaints, []);
});

Deno.test({
  name: "approvals: decided by keyboard alone, and another browser's queue shows it",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  await here.agent(owner, "web-1");
  await inviteApprover(here, owner);
  const ada = await here.person();
  const queue = await ada.signIn(OWNER, "/approvals");
  await queue.getByText("Live", { exact: true }).first().waitFor();
  const { approval_id } = await heldCommand(here, owner);
  const asked = performance.now();
  await queue.getByText("chmod -R 777").first().waitFor();
  console.log(`a new request was in the queue after ${Math.round(performance.now() - asked)} ms`);

  const grace = await here.person();
  const page = await grace.signIn(APPROVER, "/approvals");
  await page.getByText("chmod -R 777").first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/approvals/${approval_id}`);
  await page.getByRole("button", { name: "Reject…" }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Reason").fill("not on a Friday");
  await page.keyboard.press("Tab");
  await pressButton(page, /^Reject it/);
  const decided = performance.now();
  await queue.getByText("chmod -R 777").first().waitFor({ state: "detached" });
  console.log(`the decision was in the queue after ${Math.round(performance.now() - decided)} ms`);
  const shown = await owner<{ status: string; reason: string }>(
    "GET",
    `/api/shield/approvals/${approval_id}`,
  );
  deq([shown.body.status, shown.body.reason], ["rejected", "not on a Friday"]);
  deq([...ada.complaints, ...grace.complaints], []);
});

/** Moves the focus to a button by Tab alone, and presses it. */
async function pressButton(page: Page, name: RegExp): Promise<void> {
  const focused = () => page.evaluate<string>("document.activeElement.textContent.trim()");
  for (let n = 0; n < 20 && !name.test(await focused()); n++) await page.keyboard.press("Tab");
  match(await focused(), name);
  await page.keyboard.press("Enter");
}
