import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { expectStatus } from "../../clients/status_client.ts";
import { CHROMIUM, ConsoleTest, OWNER, PASSWORD } from "./harness.ts";
import { startProvider } from "./provider.ts";

const ignore = CHROMIUM === null;

/** A port that is free now: providers send browsers back to an address that the relay knows before it listens. */
function freePort(): string {
  using listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  return `${listener.addr.port}`;
}

Deno.test({
  name:
    "elsewhere: a sign-in at an issuer leads back to the screen that was asked for, and says why it failed",
  ignore,
}, async () => {
  await using provider = await startProvider(OWNER);
  const { issuer, clientId: client_id } = provider;
  await using here = await ConsoleTest.start({
    RELAY_PORT: freePort(),
    RELAY_CONFIG: JSON.stringify({
      outbound: { allow_private_targets: true },
      auth: { issuers: [{ issuer, audience: "relay", client_id, name: "Acme login" }] },
    }),
  });
  await here.signUp();
  const person = await here.person();
  const page = await person.page();
  await page.goto(`${here.url}/console/agents?status=online`);
  await page.getByRole("link", { name: "Sign in with Acme login" }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  eq(page.url(), `${here.url}/console/agents?status=online`);
  // Of the flow nothing is left; over plain HTTP no cookie needs what some browsers refuse there.
  const cookies = await person.context.cookies();
  deq(cookies.map(({ name, secure }) => [name, secure]), [
    [`relay_session_${new URL(here.url).port}`, false],
  ]);
  await page.getByText(OWNER).click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in to Relay" }).waitFor();
  eq(page.url(), `${here.url}/console/sign-in`);

  provider.refuses = true;
  await page.goto(`${here.url}/console/agents?status=online`);
  await page.getByRole("link", { name: "Sign in with Acme login" }).click();
  await page.getByRole("alert").getByText("The identity provider did not sign you in").waitFor();
  await page.getByLabel("E-mail").fill(OWNER);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  eq(page.url(), `${here.url}/console/agents?status=online`);
  deq(person.complaints, []);
});

Deno.test({
  name:
    "elsewhere: an integration's provider sends the browser back to its screen, with the outcome",
  ignore,
}, async () => {
  await using provider = await startProvider(OWNER);
  await using here = await ConsoleTest.start({ RELAY_PORT: freePort() });
  const owner = await here.signUp();
  const body = {
    type: "oauth2",
    config: {
      issuer: provider.issuer,
      client_id: provider.clientId,
      client_secret: "secret",
      scopes: ["openid"],
      repository_host: "git.example.com",
    },
  };
  expectStatus(await owner("POST", "/api/integrations", body), 201, "installing");
  const person = await here.person();
  const page = await person.signIn(OWNER, "/integrations");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByRole("link", { name: /^Continue at localhost/ }).click();
  await page.getByRole("status").getByText("is connected.").waitFor();
  eq(new URL(page.url()).pathname, "/console/integrations");

  provider.refuses = true;
  await page.getByRole("button", { name: "Connect it again" }).click();
  await page.getByRole("link", { name: /^Continue at localhost/ }).click();
  await page.getByRole("alert").getByText("access was denied").waitFor();
  deq(person.complaints, []);
});
