import { type Answer, type Client, expectStatus, type Refusal } from "../clients/status_client.ts";
import { AfterCrash } from "../crash/after_crash.ts";
import type { HookKind, HookReceivers } from "../crash/hook_receivers.ts";
import { appendTo, CALLERS, type Note, type Step } from "../crash/load.ts";
import { makeHook } from "../crash/make_hook.ts";
import { makeKey } from "../support/processes.ts";
import type { Random } from "../support/random.ts";
import { type Cluster, NotAcknowledged } from "./cluster.ts";
import { type ClusterAgent, startAgent } from "./parts.ts";
import { delay } from "./wait.ts";

const SCOPES = ["agents:read", "agents:write", "audit:read", "audit:write", "system:read"];
const HOOKS: readonly HookKind[] = ["good", "flaky"];
/** Refusals that say nothing wrong while processes die. */
const REFUSALS: Readonly<Record<number, string>> = {
  409: "AGENT_OFFLINE",
  502: "COMMAND_LOST",
  503: "UNAVAILABLE",
};
/** Long enough to be under way at a kill. */
const LONG_SECONDS = 3;

/** An organization with an agent, and what its callers were told. */
export interface Organization {
  readonly id: string;
  readonly after: AfterCrash;
  readonly approver: Client;
  /** The key of its callers. */
  readonly key: string;
  readonly agentKey: string;
  /** The agent's name. */
  readonly name: string;
  agent: ClusterAgent;
  /** Its webhooks by id. */
  readonly webhooks: ReadonlyMap<string, HookKind>;
  /** Texts of the commands whose refusal was answered: each is one event. */
  readonly acknowledged: Set<string>;
}

/** Makes an organization with an owner, an approver, webhooks, and an agent that dials `agentUrl`. */
export async function furnish(
  n: number,
  { cluster, dice, folder, agentUrl, receivers, seed, send = fetch }: {
    readonly cluster: Cluster;
    readonly dice: Random;
    readonly folder: string;
    readonly agentUrl: string;
    readonly receivers: HookReceivers;
    readonly seed: string;
    readonly send?: typeof fetch;
  },
): Promise<Organization> {
  const signUp = async (account: object) => {
    const answer = await cluster.client(dice)<{ token: string; organization: { id: string } }>(
      "POST",
      "/api/v1/signup",
      { password: "correct horse 7", ...account },
    );
    return expectStatus(answer, 201, "signing up");
  };
  const { token, organization: { id } } = await signUp({
    email: `owner${n}@example.com`,
    organization: `${n}`,
  });
  const owner = cluster.client(dice, token);
  const invited = await owner<{ invite_code: string }>("POST", "/api/v1/invitations", {
    roles: ["admin"],
  });
  const { invite_code } = expectStatus(invited, 201, "inviting");
  const approver = await signUp({ email: `approver${n}@example.com`, invite_code });
  const webhooks = new Map<string, HookKind>();
  for (const kind of HOOKS) webhooks.set(await makeHook(owner, kind, receivers.urls[kind]), kind);
  const agentKey = await makeKey(owner, ["agents:admin"]);
  const name = `machine-${n}`;
  const agent = await startAgent({ url: agentUrl, key: agentKey, folder, name });
  const key = await makeKey(owner, [...SCOPES, "system:write"]);
  const client = cluster.client(dice, key, send);
  return {
    id,
    after: new AfterCrash(client, agent.id, `${folder}/counter-${n}`, seed),
    approver: cluster.client(dice, approver.token, send),
    key,
    agentKey,
    name,
    agent,
    webhooks,
    acknowledged: new Set(),
  };
}

/** Callers of every kind for organizations, until `stop`. */
export class Load {
  acknowledged = 0;
  /** Requests that were not acknowledged, by reason. */
  readonly unknown = new Map<string, number>();
  #stopped = false;
  readonly running: Promise<unknown>;

  /** Each caller rests up to `restMs` after each request, so that a long run stays within what its checks can read. */
  constructor(
    organizations: readonly Organization[],
    private readonly dice: Random,
    private readonly restMs: number,
  ) {
    this.running = Promise.all(organizations.flatMap((organization) => [
      ...[...CALLERS, long].map((step) => this.#call(organization, step)),
      this.#call(organization, (_, note) => this.#approve(organization, note)),
      this.#call(organization, () => this.#deny(organization)),
    ]));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.running;
  }

  async #call({ after }: Organization, step: Step): Promise<void> {
    const note: Note = (answer, status, what) => {
      const body = this.#told(answer, status, what);
      after.ledger.requests.push(answer.requestId);
      return body;
    };
    while (!this.#stopped) {
      try {
        await step(after, note);
      } catch (error) {
        if (!(error instanceof NotAcknowledged)) throw error;
        this.unknown.set(error.message, (this.unknown.get(error.message) ?? 0) + 1);
      }
      await delay(this.dice.below(this.restMs));
    }
  }

  #told<Body>(answer: Answer<Body>, status: number, what: string): Body {
    const { error } = answer.body as Partial<Refusal>;
    if (answer.status !== status && error !== undefined && REFUSALS[answer.status] === error.code) {
      throw new NotAcknowledged(error.code);
    }
    const body = expectStatus(answer, status, what);
    this.acknowledged++;
    return body;
  }

  /** Asks for a command that needs an approval, and approves it. */
  async #approve({ after, approver }: Organization, note: Note): Promise<void> {
    const { agentId, client, counterFile, ledger } = after;
    const mark = ledger.nextMark();
    const command = `git -C /nonexistent push --force; ${appendTo(counterFile, mark)}`;
    const query = new URLSearchParams({ command });
    const asked = await client<{ command_id: string; approval_id: string }>(
      "GET",
      `/api/exec/${agentId}?${query}`,
    );
    const { approval_id, command_id } = note(asked, 202, "a command that needs an approval");
    this.#told(await approver("POST", `/api/shield/approve/${approval_id}`), 200, "approving");
    ledger.accepted.set(command_id, mark);
  }

  /** Asks for a command that the shield denies, which is an event for the webhooks. */
  async #deny({ acknowledged, after: { agentId, client, ledger } }: Organization): Promise<void> {
    const command = `rm -rf / # ${ledger.nextMark()}`;
    const query = new URLSearchParams({ command });
    this.#told(await client("GET", `/api/exec/${agentId}?${query}`), 403, "a denied command");
    acknowledged.add(command);
  }
}

/** Starts a command that is still running when its instance dies. */
async function long(
  { client, agentId, counterFile, ledger }: Parameters<Step>[0],
  note: Note,
): Promise<void> {
  const mark = ledger.nextMark();
  const command = `${appendTo(counterFile, mark)}; sleep ${LONG_SECONDS}`;
  const path = `/api/v1/agents/${agentId}/commands`;
  const answer = await client<{ command_id: string }>("POST", path, { command });
  const { command_id } = note(answer, 202, "starting a long command");
  ledger.accepted.set(command_id, mark);
  await delay(LONG_SECONDS * 500);
}
