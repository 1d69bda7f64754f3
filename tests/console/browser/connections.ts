import { deepStrictEqual as deq } from "node:assert/strict";
import { expectStatus } from "../../clients/status_client.ts";
import { startMain } from "../../support/processes.ts";
import { CHROMIUM, ConsoleTest, OWNER } from "./harness.ts";

const ignore = CHROMIUM === null;

interface Key {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expires_at: string;
}

Deno.test({
  name:
    "keys: a name and an expiry are changed in the console, and what others change meanwhile stays",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  const made = await owner<Key>("POST", "/api/v1/api-keys", {
    name: "ci",
    scopes: ["agents:read", "policy:read"],
  });
  const path = `/api/v1/api-keys/${expectStatus(made, 201, "making a key").id}`;
  const ada = await here.person();
  const page = await ada.signIn(OWNER, path.replace("/api/v1/api-keys", "/keys"));
  await page.getByText("Change the key").click();
  const form = page.locator("details", { hasText: "Change the key" });
  await form.getByLabel("Name").fill("ci 2");
  // Somebody else takes a right away while the form is open.
  expectStatus(await owner("PATCH", path, { scopes: ["agents:read"] }), 200, "narrowing");
  await form.getByRole("checkbox", { name: /policy:read/, checked: false }).waitFor();
  const end = new Date(Date.now() + 400 * 24 * 60 * 60_000);
  end.setSeconds(0, 0);
  const zone = await page.evaluate<number>("new Date().getTimezoneOffset()");
  const local = new Date(end.getTime() - zone * 60_000).toISOString().slice(0, 16);
  await form.getByLabel("Expires").fill(local);
  await form.getByRole("button", { name: "Save the key" }).click();
  await page.getByRole("heading", { name: "ci 2" }).waitFor();
  const { name, scopes, expires_at } = expectStatus(await owner<Key>("GET", path), 200, "reading");
  deq([name, scopes, expires_at], ["ci 2", ["agents:read"], end.toISOString()]);

  await form.getByLabel("Name").fill("mine");
  expectStatus(await owner("PATCH", path, { name: "theirs" }), 200, "renaming");
  await form.getByText("Somebody changed this after you began").waitFor();
  deq(await form.getByLabel("Name").inputValue(), "mine");

  await page.goto(`${here.url}/console/host`);
  await page.getByText("Never backed up").waitFor();
  const backup = startMain(["backup", `${here.folder}/backup`], {
    RELAY_KV: `${here.folder}/relay.kv`,
  });
  deq((await backup.ended).code, 0, backup.lines.join("\n"));
  await page.reload();
  await page.getByText("Last backup").waitFor();
  deq(ada.complaints, []);
});
