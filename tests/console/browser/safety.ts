import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { expectStatus } from "../../clients/status_client.ts";
import { CHROMIUM, ConsoleTest, OWNER } from "./harness.ts";

const ignore = CHROMIUM === null;
const EVENT = { event_type: "deploy.finished", details: { text: "\u202e<b>" } };

Deno.test(
  { name: "safety: a row proves in the browser, and an altered one does not", ignore },
  async () => {
    await using here = await ConsoleTest.start();
    const owner = await here.signUp();
    expectStatus(await owner("POST", "/api/audit/event", EVENT), 201, "registering an event");
    const person = await here.person();
    const page = await person.signIn(OWNER, "/audit?event_type=deploy.finished");
    await page.getByText("verified", { exact: true }).waitFor();
    await page.getByRole("link", { name: "deploy.finished" }).click();
    const prove = page.getByRole("button", { name: "Prove this row" });
    const steps = page.getByRole("list", { name: "Steps of the proof" }).locator("li");
    await prove.click();
    await page.getByText("proven", { exact: true }).waitFor();
    deq(
      await steps.locator(".unseen").allTextContents(),
      Array(7).fill("Passed"),
    );

    // A relay that shows another text for the same row.
    await page.route("**/api/audit/proof/*", async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: { ...answer, row: answer.row.replace("<b>", "<i>") } });
    });
    await page.reload();
    await prove.click();
    await page.getByText("not proven").waitFor();
    ok(await steps.locator("text=Failed").count() > 0);
  },
);

Deno.test({
  name: "safety: a log that is not the one of the last visit is reported, until it is forgotten",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/audit");
  await page.getByText("verified", { exact: true }).waitFor();
  await page.evaluate(`(() => {
    const [name, kept] = Object.entries(localStorage).find(([name]) => name.startsWith("relay checkpoint"));
    localStorage.setItem(name, kept.replace(/\\\\n[A-Za-z0-9+/]{43}=/, "\\\\n" + "A".repeat(43) + "="));
  })()`);
  await page.reload();
  await page.getByText("not as it was").waitFor();
  await page.getByRole("button", { name: "Forget what this browser saw" }).click();
  await page.getByText("verified", { exact: true }).waitFor();
});

Deno.test({ name: "safety: the playground's command stays in the browser", ignore }, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/playground");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.getByLabel("Command", { exact: true }).fill("rm -rf / # a-secret-word");
  await page.getByText("denied").waitFor();
  await page.reload();
  await page.getByText("denied").waitFor();
  deq(await page.getByLabel("Command", { exact: true }).inputValue(), "rm -rf / # a-secret-word");
  deq(asked.filter((url) => url.split("#")[0]!.includes("a-secret-word")), []);
  deq(person.complaints, []);
});

Deno.test({
  name: "safety: what is typed stays while lists change and while a fetch fails",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  const person = await here.person();
  const page = await person.signIn(OWNER, "/audit");
  await page.getByText("Live", { exact: true }).first().waitFor();
  const text = page.getByLabel("Text in the details");
  await text.pressSequentially("depl");
  expectStatus(await owner("POST", "/api/audit/event", EVENT), 201, "registering an event");
  await page.getByRole("link", { name: "deploy.finished" }).waitFor();
  deq(await text.inputValue(), "depl");
  await text.press("Enter");
  await page.waitForURL("**/audit?text=depl");

  const report = () =>
    owner<{ accepted: number }>("POST", "/api/shield/ingest", {
      source: "probe",
      alerts: [{ name: "Disk full", fingerprint: "f1", severity: "critical", state: "firing" }],
    });
  expectStatus(await report(), 200, "reporting an alert");
  await page.goto(`${here.url}/console/alerts`);
  await page.getByRole("link", { name: "Disk full" }).click();
  const reason = page.getByLabel("Reason");
  await reason.fill("on it");
  await page.getByText("Live", { exact: true }).first().waitFor();
  const failing = { status: 503, json: { error: { code: "UNAVAILABLE", message: "Not now." } } };
  await page.route("**/api/shield/alerts/*", (route) => route.fulfill(failing));
  const refused = page.waitForResponse((response) => response.status() === 503);
  expectStatus(await report(), 200, "reporting it again");
  await refused;
  await page.unroute("**/api/shield/alerts/*");
  await page.waitForResponse(/\/api\/shield\/alerts\/[^/]+$/); // it is fetched again by itself
  deq(await reason.inputValue(), "on it");
});
