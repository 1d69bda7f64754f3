import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { type Client, expectStatus } from "../clients/status_client.ts";
import { CHROMIUM, ConsoleTest, OWNER } from "../console/browser/harness.ts";
import { linesOf } from "../../core/cli/remote/mcp/lines.ts";

/**
 * The official clients and the authorization scenarios of the conformance suite sign in at a relay: its own
 * authorization server, the console's question, and the tokens. `deno task test:mcp` fetches the packages.
 */
const PACKAGES = new URL("./packages/", import.meta.url).pathname;
const SUITE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";
const LINE_BYTES_MAX = 1024 * 1024;
const SCOPE = "agents:read";

/** Runs a script of the packages; returns the lines that it prints, and how to await its success. */
function runPackage(script: string, args: readonly string[]) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", script, ...args],
    cwd: PACKAGES,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = linesOf(child.stdout, LINE_BYTES_MAX);
  const said: string[] = [];
  /** The next line; null at the end. */
  const next = async (): Promise<string | null> => {
    const { value, done } = await lines.next();
    if (done) return null;
    said.push(value ?? "(a line that is too long)");
    return said.at(-1)!;
  };
  return {
    /** The part in parentheses of the next line that matches. */
    async line(pattern: RegExp): Promise<string> {
      for (let line = await next(); line !== null; line = await next()) {
        const found = pattern.exec(line)?.[1];
        if (found !== undefined) return found;
      }
      throw new Error(`it ended without ${pattern}:\n${said.join("\n")}`);
    },
    /** All that it printed, once it has succeeded. */
    async succeeded(): Promise<string> {
      while (await next() !== null);
      eq((await child.status).code, 0, said.join("\n"));
      return said.join("\n");
    },
  };
}

/** Answers a client's question by the API, as the console does. */
async function allow(owner: Client, address: string): Promise<void> {
  const asked = Object.fromEntries(new URL(address).searchParams);
  const decided = await owner<{ redirect_to: string }>(
    "POST",
    "/api/account/mcp-clients/decide",
    { ...asked, approve: true, scopes: [SCOPE] },
  );
  const { redirect_to } = expectStatus(decided, 200, "allowing the client");
  await (await fetch(redirect_to)).body?.cancel();
}

/** Answers it in a browser, where a person chooses what the client may do. */
async function allowInBrowser(here: ConsoleTest, address: string): Promise<void> {
  const person = await here.person();
  const page = await person.signIn(OWNER);
  await page.goto(address);
  await page.getByText("act for you?").waitFor();
  const rights = page.getByRole("checkbox");
  for (const box of await rights.all()) await box.setChecked(false);
  await page.getByLabel(new RegExp(`^${SCOPE}`)).check();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByText("Back at the client").waitFor();
  deq(person.complaints, []);
}

Deno.test({
  name: "official: both clients register, sign in through the console's page, and refresh",
  ignore: CHROMIUM === null,
}, async () => {
  await using here = await ConsoleTest.start();
  await here.signUp();
  for (const name of ["client", "sdk"]) {
    const { line, succeeded } = runPackage("sign_in.ts", [
      name,
      `${here.url}/mcp?tools=common&sign_in=required`,
    ]);
    await allowInBrowser(here, await line(/^open (\S+)$/));
    const { scope, tools } = JSON.parse(await line(/^done (.*)$/));
    eq(scope, SCOPE);
    ok(tools.includes("list_agents") && !tools.includes("run_command"), tools.join());
    await succeeded();
  }
});

Deno.test({
  name: "official: the conformance suite's authorization scenarios pass",
  ignore: CHROMIUM === null,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const registered = await fetch(`${here.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: ["http://127.0.0.1/callback"] }),
  });
  const { client_id } = await registered.json();
  const { line, succeeded } = runPackage(SUITE, [
    ...["authorization", "--url", here.url, "--client-id", client_id],
    ...["--resource", `${here.url}/mcp`, "--port", `${port}`, "-o", here.folder],
  ]);
  await allow(owner, await line(/^(http\S+\/console\/authorize\S+)$/));
  const total = /Total: .*/.exec(await succeeded())?.[0];
  console.log(`authorization: ${total}`);
  eq(total, "Total: 3 passed, 0 failed");
});
