import type { Program } from "../../core/cli/program.ts";
import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";
import { FleetAgents } from "../crash/fleet_agents.ts";
import { type HookKind, type HookReceivers, startHookReceivers } from "../crash/hook_receivers.ts";
import { Ledger } from "../crash/ledger.ts";
import { makeHook } from "../crash/make_hook.ts";
import { makeKey, signUpOwner, START_MS, startMain } from "../support/processes.ts";
import type { Random } from "../support/random.ts";
import type { SoakRelay } from "./relay.ts";
import type { Work } from "./work.ts";

const KINDS: readonly HookKind[] = ["good", "flaky", "hang", "drip", "reset", "gone"];
/** Agents that answer at once and run nothing. */
const ECHOES = 6;
/** The member whose password others try to guess. */
export const TARGET = "target@example.com";
export const MEMBER = { email: "member@example.com", password: "correct horse 8" };

/** An agent's process, which runs what it is told. */
export interface RealAgent {
  readonly id: string;
  /** What its commands write their marks into. */
  readonly counter: string;
  program: Program;
}

/** All that the work of a soak needs. */
export interface Place {
  readonly work: Work;
  readonly dice: Random;
  readonly relay: SoakRelay;
  readonly receivers: HookReceivers;
  /** The organization's id. */
  readonly organization: string;
  /** With every right of the owner. */
  readonly owner: Client;
  readonly ownerKey: string;
  /** Of the second owner. */
  readonly approver: Client;
  /** Of another organization. */
  readonly stranger: Client;
  /** Its key has the limits that keys have. */
  readonly limited: Client;
  /** Its key is of the test space. */
  readonly tester: Client;
  /** Is never killed. */
  readonly steady: RealAgent;
  /** Is killed now and then. */
  readonly victim: RealAgent;
  readonly echoes: FleetAgents;
  readonly echoIds: readonly string[];
  /** Webhooks by id. */
  readonly hooks: ReadonlyMap<string, HookKind>;
  readonly ledger: Ledger;
  /** Starts the victim again. */
  revive(): Promise<void>;
}

/** Makes two organizations, agents and webhooks at a relay that has started. */
export async function furnish(
  folder: string,
  { relay, work, dice }: Pick<Place, "relay" | "work" | "dice">,
  ends: AsyncDisposableStack,
): Promise<Place> {
  const client = (credential?: string) => work.patient(clientOf(relay.url, credential));
  const signedIn = client(await signUpOwner(client()));
  const account = await signedIn<{ organization: { id: string } }>("GET", "/api/account/info");
  const scopes = await everyScope(signedIn);
  const ownerKey = await makeKey(signedIn, scopes);
  const owner = client(ownerKey);
  await invite(signedIn, client(), TARGET, "a password that nobody guesses", "viewer");
  const second = client(await invite(signedIn, client(), MEMBER.email, MEMBER.password, "owner"));
  const other = { email: "b@example.com", password: "correct horse 9", organization: "B" };
  const stranger = await client()<{ token: string }>("POST", "/api/v1/signup", other);
  const strangers = client(expectStatus(stranger, 201, "signing up").token);
  const approvals = { approvals: { expires_seconds: 60 } };
  expectStatus(await signedIn("PATCH", "/api/shield/settings", approvals), 200, "the settings");

  const receivers = ends.use(startHookReceivers());
  const hooks = new Map<string, HookKind>();
  for (const kind of KINDS) hooks.set(await makeHook(owner, kind, receivers.urls[kind]), kind);
  const token = await makeKey(owner, ["agents:admin"]);
  const start = (name: string) =>
    startMain(["agent", "--url", relay.url, "--name", name, "--state", `${folder}/${name}`], {
      RELAY_TOKEN: token,
    });
  const real = async (name: string): Promise<RealAgent> => {
    const agent = { id: "", counter: `${folder}/${name}.counter`, program: start(name) };
    ends.defer(async () => void await agent.program.stop());
    const [, id] = await agent.program.line(/^connected to .* \((\w+)\)$/, START_MS);
    return Object.assign(agent, { id: id! });
  };
  const [steady, victim] = await Promise.all([real("steady"), real("victim")]);
  const echoes = new FleetAgents(relay.url, token, ECHOES, (_order, answer) => answer());
  ends.defer(() => echoes.close());
  await echoes.connect();
  return {
    work,
    dice,
    relay,
    receivers,
    organization: account.body.organization.id,
    owner,
    ownerKey,
    approver: client(await makeKey(second, ["approvals:read", "approvals:write", "agents:read"])),
    stranger: client(await makeKey(strangers, await everyScope(strangers))),
    limited: client(await limitedKey(signedIn)),
    tester: client(await limitedKey(signedIn, "test")),
    steady,
    victim,
    echoes,
    echoIds: await idsOf(owner),
    hooks,
    ledger: new Ledger(),
    async revive() {
      victim.program = start("victim");
      await victim.program.line(/^connected to /, START_MS);
    },
  };
}

async function everyScope(client: Client): Promise<string[]> {
  const answer = await client<{ scopes: { name: string }[] }>("GET", "/api/v1/scopes");
  return expectStatus(answer, 200, "the scopes").scopes.map(({ name }) => name);
}

/** A new member's token. */
async function invite(
  owner: Client,
  anonymous: Client,
  email: string,
  password: string,
  role: string,
) {
  const invited = await owner<{ invite_code: string }>("POST", "/api/v1/invitations", {
    email,
    roles: [role],
  });
  const { invite_code } = expectStatus(invited, 201, "inviting");
  const body = { email, password, invite_code };
  const joined = await anonymous<{ token: string }>("POST", "/api/v1/signup", body);
  return expectStatus(joined, 201, "joining").token;
}

/** A key that reads agents, as often as the default allows. */
async function limitedKey(owner: Client, type = "live"): Promise<string> {
  const body = { name: "limited", scopes: ["agents:read"], type };
  const made = await owner<{ id: string; key: string }>("POST", "/api/v1/api-keys", body);
  const { id, key } = expectStatus(made, 201, "making a key");
  const limits = { requests_per_minute: 100, burst_per_10_seconds: 40, max_concurrent: 10 };
  if (type === "live") {
    expectStatus(await owner("PUT", `/api/admin/limits/${id}`, limits), 200, "limiting a key");
  }
  return key;
}

async function idsOf(owner: Client): Promise<string[]> {
  const answer = await owner<{ agents: { id: string; name: string }[] }>("GET", "/api/v1/agents");
  const { agents } = expectStatus(answer, 200, "the agents");
  return agents.filter(({ name }) => name.startsWith("web-")).map(({ id }) => id);
}
