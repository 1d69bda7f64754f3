import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Page } from "playwright-core";
import { checkScreen, CHROMIUM, ConsoleTest, OWNER, PASSWORD, VIEWS } from "./harness.ts";

const ignore = CHROMIUM === null;

const VERIFIER = "a-verifier-with-at-least-forty-three-characters";
const NAME = "Robot \u202e<b>assistant</b>";

/** An MCP client that runs on this machine: it waits for the browser at an address of its own. */
async function startClient(relay: string, scope?: string) {
  const came = Promise.withResolvers<URLSearchParams>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/callback") came.resolve(searchParams);
    return new Response("<h1>Back at the client</h1>", {
      headers: { "content-type": "text/html" },
    });
  });
  const redirect_uri = `http://127.0.0.1:${server.addr.port}/callback`;
  const registered = await fetch(`${relay}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: NAME, redirect_uris: ["http://127.0.0.1/callback"] }),
  });
  const { client_id } = await registered.json();
  const asked = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri,
    code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
    code_challenge_method: "S256",
    state: "a state",
    ...(scope !== undefined && { scope }),
    prompt: "consent",
  });
  return {
    url: `${relay}/console/authorize?${asked}`,
    came: came.promise,
    async exchange(code: string) {
      const body = new URLSearchParams({
        ...{ grant_type: "authorization_code", code, client_id, redirect_uri },
        code_verifier: VERIFIER,
      });
      return await (await fetch(`${relay}/oauth/token`, { method: "POST", body })).json();
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const signIn = async (page: Page) => {
  await page.getByLabel("E-mail").fill(OWNER);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
};

Deno.test({
  name: "mcp client: a person signs in, chooses rights and allows a client, and ends it later",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  await using client = await startClient(here.url, "agents:read agents:write system:write");
  const person = await here.person();
  const page = await person.page();
  await page.goto(client.url);
  await signIn(page);
  await page.getByText("act for you?").waitFor();
  await page.getByLabel(/^system:write/).uncheck();
  await checkScreen(person, page, "consent");
  ok(await page.getByText("U+202E").isVisible(), "hidden characters of the name are shown");
  ok(await page.getByText("a program on this computer (127.0.0.1)").isVisible());
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("heading", { name: "Back at the client" }).waitFor();
  const query = await client.came;
  deq([query.get("state"), query.get("iss")], ["a state", here.url]);
  const tokens = await client.exchange(query.get("code")!);
  eq(tokens.scope, "agents:read agents:write");
  const list = () =>
    fetch(`${here.url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${tokens.access_token}`,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
  const listed = await list();
  eq(listed.status, 200);
  ok((await listed.text()).includes('"run_command"'));
  await page.goto(`${here.url}/console/settings`);
  await page.getByRole("heading", { name: "My MCP clients" }).waitFor();
  await page.getByRole("button", { name: /^End the client/ }).click();
  await page.getByLabel("My MCP clients").getByText("None.").waitFor();
  const ended = await list();
  eq(ended.status, 401);
  await ended.body?.cancel();
});

Deno.test(
  { name: "mcp client: a refusal returns to the client without a code", ignore },
  async () => {
    await using here = await ConsoleTest.start();
    await here.signUp();
    await using client = await startClient(here.url);
    const person = await here.person();
    const page = await person.signIn(OWNER);
    // A link may name a space, and leave fields empty.
    await page.goto(`${client.url}&scope=&resource=&space=test`);
    await page.getByRole("button", { name: "Refuse" }).click();
    const query = await client.came;
    deq([query.get("error"), query.get("code")], ["access_denied", null]);
  },
);

Deno.test({
  name:
    "mcp client: the question fits every view, and an invalid request is not sent to the client",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  await using client = await startClient(here.url);
  for (const { width, colorScheme } of VIEWS) {
    const person = await here.person({ viewport: { width, height: 900 }, colorScheme });
    const page = await person.signIn(OWNER);
    await page.goto(client.url);
    await page.getByText("act for you?").waitFor();
    await checkScreen(person, page, `consent ${width} ${colorScheme}`);
    // It asks for every right, so those that change the organization are not ticked.
    ok(await page.getByLabel(/^agents:write/).isChecked());
    ok(!await page.getByLabel(/^system:write/).isChecked());
    await person.context.close();
  }
  const person = await here.person();
  const page = await person.signIn(OWNER);
  const elsewhere = new URL(client.url);
  elsewhere.searchParams.set("redirect_uri", "https://evil.example/callback");
  await page.goto(elsewhere.href);
  await page.getByRole("heading", { name: "This client cannot be connected" }).waitFor();
  ok(await page.getByText("must be an address that the client has registered").isVisible());
  eq(await page.getByRole("link", { name: /evil/ }).count(), 0);
});
