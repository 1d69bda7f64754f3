import { deepStrictEqual as deq } from "node:assert/strict";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import axeSource from "axe-core/axe.min.js" with { type: "text" };
import { type Client, clientOf, expectStatus } from "../../clients/status_client.ts";
import type { Program } from "../../../core/cli/program.ts";
import { START_MS, startMain, startRelayProcess } from "../../support/processes.ts";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** The browser's program; null where there is none, and then the tests are skipped. */
export const CHROMIUM = Deno.env.get("RELAY_CHROMIUM") ?? PLACES.find(exists) ?? null;
if (CHROMIUM === null) console.log("Chromium is not here: the tests of the console are skipped");

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** How long a browser may take for one step, on a busy machine. */
export const STEP_MS = 60_000;
export const PASSWORD = "correct horse battery staple";
export const OWNER = "ada@example.com";
export const VIEWS = [
  { width: 390, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
] as const;

/** A relay in a process of its own, and a browser. */
export class ConsoleTest {
  #started: Program[] = [];

  private constructor(
    readonly url: string,
    readonly folder: string,
    readonly browser: Browser,
    private relay: Program,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<ConsoleTest> {
    const folder = await Deno.makeTempDir({ prefix: "relay-console-" });
    const given = {
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify({ outbound: { allow_private_targets: true } }),
      ...env,
    };
    const { relay, url } = await startRelayProcess(given);
    // A certificate of the tests' own authority is accepted, in workers too.
    const args = ["--no-sandbox", "--ignore-certificate-errors"];
    const browser = await chromium.launch({ executablePath: CHROMIUM!, args });
    return new ConsoleTest(url, folder, browser, relay, given);
  }

  /** A client of the API. */
  client(token?: string): Client {
    return clientOf(this.url, token);
  }

  /** Signs the first person up by the API. */
  async signUp(email = OWNER, organization = "Acme"): Promise<Client> {
    const account = { email, password: PASSWORD, organization };
    const answer = await this.client()<{ token: string }>("POST", "/api/v1/signup", account);
    return this.client(expectStatus(answer, 201, "signing up").token);
  }

  /** A real agent on this machine, connected. */
  async agent(owner: Client, name: string, labels: Record<string, string> = {}): Promise<Program> {
    const made = await owner<{ pairing_code: string }>("POST", "/api/devices/pairing-codes", {
      labels,
    });
    const { pairing_code: code } = expectStatus(made, 201, "making a pairing code");
    return await this.agentWith(code, name);
  }

  /** A real agent that pairs with a code. */
  async agentWith(code: string, name: string): Promise<Program> {
    const state = ["--state", `${this.folder}/${name}`];
    const pairing = startMain(
      ["agent", "pair", "--url", this.url, "--code", code, "--name", name, ...state],
    );
    await pairing.line(/^paired as/, START_MS);
    await pairing.ended;
    const agent = startMain(["agent", ...state]);
    this.#started.push(agent);
    await agent.line(/^connected to/, START_MS);
    return agent;
  }

  /** Takes the relay away, for `use`, and starts it again on the same port. */
  async without(use: () => Promise<void>): Promise<void> {
    await this.relay.kill();
    await use();
    const { port } = new URL(this.url);
    this.relay = (await startRelayProcess({ ...this.env, RELAY_PORT: port })).relay;
  }

  /** A browser of its own, like another person's. */
  async person(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Person> {
    const context = await this.browser.newContext(options);
    context.setDefaultTimeout(STEP_MS);
    return new Person(this.url, context);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    for (const program of this.#started) await program.kill();
    await this.relay.kill();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** One browser and what it complained about. */
export class Person {
  /** Errors of scripts, of the network and of the content policy. */
  readonly complaints: string[] = [];

  constructor(readonly url: string, readonly context: BrowserContext) {}

  async page(): Promise<Page> {
    const page = await this.context.newPage();
    page.on("console", (message) => {
      if (message.type() !== "error") return;
      const { url } = message.location();
      // Only a wrong password gets 401: a page without a session asks for nothing that needs one.
      const isPassword = url.endsWith("/api/v1/console-session");
      if (isPassword && /status of 401/.test(message.text())) return;
      this.complaints.push(`${message.text()} ${url}`);
    });
    page.on("pageerror", (error) => this.complaints.push(error.stack ?? error.message));
    return page;
  }

  /** A page where somebody is signed in. */
  async signIn(email = OWNER, path = "/", password = PASSWORD): Promise<Page> {
    const page = await this.page();
    await page.goto(`${this.url}/console/sign-in?next=${encodeURIComponent(path)}`);
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("header.top").waitFor();
    return page;
  }
}

/** Waits until the page shows its data, and then checks what every screen promises. */
export async function checkScreen(person: Person, page: Page, what: string): Promise<void> {
  await page.locator(".loading, .starting").first().waitFor({ state: "detached" });
  const wider = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  deq([what, "is wider than the window by", Math.max(0, wider)], [
    what,
    "is wider than the window by",
    0,
  ]);
  const violations = await page.evaluate(
    `${axeSource}; axe.run({ resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 200)).join(" | ")))`,
  );
  deq([what, violations], [what, []]);
  deq([what, person.complaints], [what, []]);
}
