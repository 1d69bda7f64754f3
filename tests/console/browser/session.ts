import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import type { Page } from "playwright-core";
import { type Client, expectStatus } from "../../clients/status_client.ts";
import { CHROMIUM, ConsoleTest, OWNER, PASSWORD } from "./harness.ts";

const ignore = CHROMIUM === null;

const ALERTS = "/api/shield/alerts";
const BROKEN = { error: { code: "INTERNAL_ERROR", message: "A fault of the relay.", details: {} } };

/** A module of the page, as an expression for it. */
const module = (name: string) =>
  `import(document.body.dataset.worker.replace("live/worker.ts", "${name}"))`;

/** Ends every session of the owner but that of `owner`. */
async function endSessions(owner: Client): Promise<void> {
  const { sessions } = (await owner<{ sessions: { id: string; current: boolean }[] }>(
    "GET",
    "/api/account/sessions",
  )).body;
  for (const { id } of sessions.filter(({ current }) => !current)) {
    expectStatus(await owner("DELETE", `/api/account/sessions/${id}`), 204, "ending a session");
  }
}

const signIn = async (page: Page) => {
  await page.getByLabel("E-mail").fill(OWNER);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
};

Deno.test({
  name: "session: an answer from before a sign-out does not sign the page in again",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/settings");
  const asked = Promise.withResolvers<void>(), signedOut = Promise.withResolvers<void>();
  await page.route("**/api/account/info", async (route) => {
    const response = await route.fetch();
    asked.resolve();
    await signedOut.promise;
    await route.fulfill({ response });
  });
  await page.evaluate(
    `void (globalThis.reading = ${module("session.ts")}.then((it) => it.readSession()))`,
  );
  await asked.promise;
  await page.getByText(OWNER).first().click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in to Relay" }).waitFor();
  signedOut.resolve();
  await page.evaluate("reading");
  eq(await page.evaluate(`${module("session.ts")}.then(({ me }) => me.value)`), null);
  deq(person.complaints, []);
});

Deno.test({
  name:
    "session: what was typed stays while the relay does not answer, and after the session's end",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  const alert = { name: "disk full", fingerprint: "disk", severity: "critical", state: "firing" };
  const report = async () => {
    const body = { source: "monitor", alerts: [alert] };
    expectStatus(await owner("POST", "/api/shield/ingest", body), 200, "reporting an alert");
  };
  await report();
  const { alerts } = (await owner<{ alerts: { alert_id: string }[] }>("GET", ALERTS)).body;
  const person = await here.person();
  const page = await person.signIn(OWNER, `/alerts/${alerts[0]!.alert_id}`);
  await page.locator(".link.live").waitFor();
  const reason = page.getByLabel("Reason");
  await reason.fill("on my way");
  const refused = Promise.withResolvers<void>();
  await page.route(`**${ALERTS}/*`, async (route) => {
    await route.fulfill({ status: 500, json: BROKEN });
    refused.resolve();
  });
  await report();
  await refused.promise;
  await page.unroute(`**${ALERTS}/*`);
  // It is fetched again soon, though nothing changes.
  await page.getByText("reported 2 times").waitFor();
  eq(await reason.inputValue(), "on my way");

  await endSessions(owner);
  const again = page.getByRole("dialog", { name: "Your session has ended" });
  await again.waitFor();
  await report();
  await again.getByLabel("Password").fill(PASSWORD);
  await again.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("reported 3 times").waitFor();
  eq(await reason.inputValue(), "on my way");
});

Deno.test({
  name: "session: the back button leaves a sign-in, and returns to a space",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.page();
  await page.goto(`${here.url}/docs`);
  await page.goto(`${here.url}/console/agents`);
  await page.getByRole("heading", { name: "Sign in to Relay" }).waitFor();
  await page.goBack();
  eq(new URL(page.url()).pathname, "/docs");
  await page.goForward();
  await signIn(page);
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.getByLabel("Space").selectOption("test");
  await page.waitForURL("**/console?space=test");
  await page.goBack();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  deq([page.url(), await page.getByLabel("Space").inputValue()], [
    `${here.url}/console/agents`,
    "live",
  ]);
  await page.goBack();
  eq(new URL(page.url()).pathname, "/docs");
  deq(person.complaints, []);
});

Deno.test({
  name:
    "session: a sign-in keeps an address's fragment from the relay, and hostile addresses lead home",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.page();
  await page.goto(`${here.url}/console/playground#c=echo%20a-secret-word`);
  await page.getByRole("heading", { name: "Sign in to Relay" }).waitFor();
  deq([new URL(page.url()).search, new URL(page.url()).hash], [
    "?next=%2Fplayground",
    "#c=echo%20a-secret-word",
  ]);
  await signIn(page);
  const command = page.getByLabel("Command", { exact: true });
  await command.waitFor();
  eq(await command.inputValue(), "echo a-secret-word");
  for (const next of ["/\\", "//evil.example/x", "https://evil.example", "/\\evil.example", "x:"]) {
    await page.goto(`${here.url}/console/sign-in?next=${encodeURIComponent(next)}`);
    await page.locator("header.top").waitFor();
    eq(new URL(page.url()).origin, here.url);
  }
  deq(person.complaints, []);
});

Deno.test({
  name: "session: an invitation that is opened in an open page is taken out of its address",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  const invited = await owner<{ invite_code: string }>("POST", "/api/v1/invitations", {
    email: "grace@example.com",
    roles: ["viewer"],
  });
  const { invite_code } = expectStatus(invited, 201, "inviting");
  const person = await here.person();
  const page = await person.page();
  await page.goto(`${here.url}/console/join`);
  await page.getByLabel("Invitation code").waitFor();
  await page.goto(`${here.url}/console/join#${invite_code}`);
  await page.getByText("You are invited to Acme").waitFor();
  eq(page.url(), `${here.url}/console/join`);
  deq(person.complaints, []);
});

Deno.test({
  name: "session: a page whose session has ended can be left to somebody else",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/settings");
  await page.locator(".link.live").waitFor();
  await endSessions(owner);
  await page.getByRole("button", { name: "Leave the page" }).click();
  await page.getByRole("heading", { name: "Sign in to Relay" }).waitFor();
  eq(page.url(), `${here.url}/console/sign-in`);
});

Deno.test({
  name: "frame: the finder replaces the help, and a screen that is opened gets the focus",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/settings");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Control+k");
  const find = page.getByRole("dialog", { name: "Find" });
  await find.waitFor();
  // The end of the help has been told by then.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
  ok(await find.isVisible());
  await page.getByRole("combobox", { name: /^Name of a screen/ }).fill("webhooks");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Webhooks", exact: true }).waitFor();
  await page.waitForFunction(`document.activeElement.id === "main"`);
  deq(person.complaints, []);
});
