import { strictEqual as eq } from "node:assert/strict";
import { type Client, clientOf, expectStatus } from "../../clients/status_client.ts";
import { freePort } from "../../cluster/denokv.ts";
import { SCOPE_LIST } from "../../../core/identity/scopes.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { makeKey } from "../../support/processes.ts";
import { blockWith } from "../blocks.ts";
import { Machine, type Output, type Running } from "./machine.ts";

/** A person with their own sign-in at the command line. */
export interface Person {
  readonly token: string;
  readonly api: Client;
  /** What makes `relay` act as this person. */
  readonly env: Readonly<Record<string, string>>;
}

const PASSWORD = "correct horse 7";

/** One relay with an organization of two people and two agents, on which the blocks of pages run. */
export class LiveWorld implements AsyncDisposable {
  private constructor(
    readonly machine: Machine,
    readonly url: string,
    readonly relay: Running,
    readonly owner: Person,
    readonly colleague: Person,
    /** A key with every right of the owner. */
    readonly key: string,
  ) {}

  static async open(): Promise<LiveWorld> {
    const url = `http://127.0.0.1:${freePort()}`;
    const machine = await Machine.make({ RELAY_URL: url, RELAY: url });
    try {
      await machine.program("systemctl", 'echo "systemctl $*" >>"$HOME/systemctl.log"');
      const config = {
        ...NO_LIMITS,
        outbound: { allow_private_targets: true },
      };
      const relay = machine.start("relay serve", {
        RELAY_PORT: new URL(url).port,
        RELAY_SIGNUP: "open",
        RELAY_ACCESS_LOG: "all",
        RELAY_CONFIG: JSON.stringify(config),
      });
      await relay.until(/ is ready /);
      const owner = await person(machine, "a", "--sign-up A");
      const invitation = await owner.api<{ invite_code: string }>("POST", "/api/v1/invitations", {
        roles: ["operator"],
      });
      const { invite_code } = expectStatus(invitation, 201, "inviting");
      const colleague = await person(machine, "b", `--invite-code ${invite_code}`);
      const key = await makeKey(owner.api, SCOPE_LIST);
      const world = new LiveWorld(machine, url, relay, owner, colleague, key);
      for (const name of ["web-1", "web-2"]) await world.agent(name, "--label env=test");
      return world;
    } catch (error) {
      await machine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts an agent of a person's organization, and waits until it is linked. */
  async agent(name: string, options = "", of: Person = this.owner): Promise<Running> {
    const running = this.machine.start(
      `relay agent --state agents/${name} --name ${name} ${options}`,
      { RELAY_TOKEN: await makeKey(of.api, ["agents:admin"]) },
    );
    await running.until(/^connected to /m);
    return running;
  }

  /** Runs a command on an agent as the owner, and returns its record. */
  async exec(agent: string, command: string): Promise<Record<string, string>> {
    const query = new URLSearchParams({ command });
    const answer = await this.owner.api<Record<string, string>>(
      "GET",
      `/api/exec/${agent}?${query}`,
    );
    if (answer.status >= 400) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** Asks for a command that the shield denies. */
  async denied(agent: string): Promise<void> {
    const query = new URLSearchParams({ command: "rm -rf /" });
    eq((await this.owner.api("GET", `/api/exec/${agent}?${query}`)).status, 403);
  }

  /** Someone who is alone in an organization of their own. */
  person(name: string): Promise<Person> {
    return person(this.machine, name, `--sign-up ${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.machine[Symbol.asyncDispose]();
  }
}

async function person(machine: Machine, name: string, how: string): Promise<Person> {
  const email = `${name}@example.com`;
  const env = { XDG_CONFIG_HOME: `${machine.folder}/${name}`, EMAIL: email, PASSWORD };
  await machine.sh(`relay login --email ${email} --password-stdin ${how} <<<"$PASSWORD"`, env);
  const url = machine.env.RELAY_URL!;
  const login = await clientOf(url)<{ token: string }>("POST", "/api/v1/login", {
    email,
    password: PASSWORD,
  });
  const { token } = expectStatus(login, 200, "signing in");
  return { token, api: clientOf(url, token), env: { ...env, TOKEN: token } };
}

/** The walk over a page: runs its blocks with what is different on this machine. */
export class Walk {
  readonly #taken = new Set<string>();
  constructor(readonly world: LiveWorld, readonly page: string) {}

  /** The text of a block as it is run here. */
  text(part: string, others: Readonly<Record<string, string>> = {}): string {
    this.#taken.add(part);
    let { text } = blockWith(this.page, part);
    for (const [from, to] of Object.entries({ ...others })) {
      eq(text.includes(from), true, `docs/${this.page}: a block has no ${from}`);
      text = text.replaceAll(from, to);
    }
    // Addresses of a relay.
    return text.replaceAll(
      /https:\/\/relay\.example\.com|(?<![\w/.])relay\.example\.com|http:\/\/127\.0\.0\.1:9081|(?<![\w/])localhost:9081/g,
      this.world.url,
    );
  }

  /** Runs a whole block as a person. */
  run(
    part: string,
    env: Readonly<Record<string, string>> = this.world.owner.env,
    others: Readonly<Record<string, string>> = {},
  ): Promise<Output> {
    return this.world.machine.sh(this.text(part, others), env);
  }

  /** Starts a block that goes on. */
  start(
    part: string,
    env: Readonly<Record<string, string>> = this.world.owner.env,
    others: Readonly<Record<string, string>> = {},
  ): Running {
    return this.world.machine.start(this.text(part, others), env);
  }

  /** The parts whose blocks were run. */
  get taken(): readonly string[] {
    return [...this.#taken];
  }
}
