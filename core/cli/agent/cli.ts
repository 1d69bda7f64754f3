import { UsageError } from "../arguments.ts";
import { asksForHelp } from "../help.ts";
import { runAgent } from "./agent.ts";
import { type AgentArguments, parseAgentArguments } from "./start/arguments.ts";
import { onStopSignal } from "../process.ts";
import { defaultStateDir, machineHost, ownUser, takeEnvironment, tracedHost } from "./host.ts";
import { trustVerdictKey } from "./link/pin.ts";
import { publicKeyOf } from "../../protocol/protocol.ts";
import { pairMachine } from "./start/pair.ts";
import { readStart, type Start } from "./start/start.ts";
import { findOpenState } from "./start/state_modes.ts";
import { startStored } from "./upgrade/process.ts";
import { superviseAgent } from "./upgrade/supervise.ts";

const HELP = `relay agent: run the commands of a relay on this machine

Usage:
  relay agent pair --url <url> --code <code> [--name <name>] [--state <directory>]
  relay agent [options]                       after relay agent pair
  relay agent trust --key=<key> [--state <directory>]
  relay agent --url <url> (--token-file <file> | --token-stdin) [options]

Options:
  --url <url>          The relay: http, https, ws or wss. Also from RELAY_URL.
  --token-file <file>  Read the credential from a file: the agent's own, or an API key with
                       agents:admin. Pairing needs none.
  --token-stdin        Read the credential from the first line of the standard input. Without either,
                       systemd's credential relay-token is used, if there is one.
  --token <token>      The credential itself. Every user and command of this machine can read it in
                       the process list. RELAY_TOKEN works too, but every command that runs as the
                       agent's user can read it.
  --run-as <user>      Run commands as this user, who cannot read the agent's credential and keys. The
                       agent must be root. Backup and restore keep the agent's own rights.
  --name <name>        The name that pairing, or the first contact without it, gives the agent.
                       Default: the host name. A name that another agent has gets a number.
  --label <key=value>  A label; may be given up to 16 times.
  --code <code>        The one-time code for pairing, from POST /api/devices/pairing-codes. The
                       agent stores its new credential in the state directory.
  --key=<key>          The verdict key that relay agent trust pins, for a relay that was set up anew.
  --backup <path>      A file or folder that the relay may back up and restore; may be given up to 16
                       times. At most 16 MiB and 1,000 files in all. No other files are read or
                       written.
  --state <directory>  The folder of the agent's key, its credential and its journal of started
                       commands. Only its owner may enter it (0700) and read its files (0600).
                       Default: relay-agent in the user's state directory.
  --help               Show this text.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  the relay refused the agent permanently, or the state directory cannot be used
  2  wrong arguments
`;

/** Runs `relay agent`: parses its arguments and keeps the agent going; resolves to the exit code. */
export async function agentCommand(args: string[]): Promise<number> {
  const { log } = machineHost;
  if (asksForHelp(args)) {
    log.info(HELP);
    return 0;
  }
  try {
    if (args[0] === "pair") return await pair(await parseAgentArguments(args.slice(1)));
    if (args[0] === "trust") return trust(await parseAgentArguments(args.slice(1)));
    const given = await parseAgentArguments(args);
    return await keepRunning(readStart(given), args, given.tokenStdin === true);
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof UsageError) {
      log.error(`${message} See: relay agent --help`);
      return 2;
    }
    log.error(message);
    return 1;
  }
}

/** Runs the agent, again after each restart or upgrade that the relay requests. */
async function keepRunning(
  { options, host, ownRights, warnings, environment }: Start,
  args: readonly string[],
  fromStdin: boolean,
): Promise<number> {
  const { log } = machineHost;
  // The installed program has said it already when it supervises this one.
  if (options.upgrade === null) {
    for (const warning of warnings) log.warn(warning);
    if (sendsInTheClear(options.url)) {
      log.warn(`the link to ${options.url} is not encrypted: use https beyond a trusted network`);
    }
  }

  const controller = new AbortController();
  const forget = onStopSignal(() => controller.abort());
  try {
    refuseOpenState(options.stateDir, ownRights);
    const { signal } = controller;
    const traced = await tracedHost(host, environment);
    const runInstalled = () => runAgent({ ...options, signal }, traced);
    if (options.upgrade !== null) {
      // The installed program supervises this one, which must not outlive it.
      Deno.stdin.readable.pipeTo(new WritableStream()).finally(() => controller.abort());
      return await runInstalled();
    }
    const store = { stateDir: options.stateDir, tree: host.tree };
    const invocation = { args, environment, stdin: fromStdin ? options.token : null };
    return await superviseAgent({
      ...store,
      clock: host.clock,
      log,
      version: host.machine.version,
      form: host.machine.form,
      signal,
      runInstalled,
      start: (program) => startStored(store, program, invocation),
    });
  } finally {
    forget();
  }
}

/** Warns about a state directory that others may use. @throws {Error} where commands run as one of them */
function refuseOpenState(stateDir: string, ownRights: boolean): void {
  const open = findOpenState(stateDir, ownUser(), machineHost.tree);
  if (open === null) return;
  if (!ownRights) throw new Error(`${open.problem}, so commands might too: ${open.remedy}`);
  machineHost.log.warn(`${open.problem}: ${open.remedy}`);
}

/** Runs `relay agent pair`; resolves to the exit code. */
async function pair(given: AgentArguments): Promise<number> {
  const { log, files, machine } = machineHost;
  const url = given.url ?? takeEnvironment()["RELAY_URL"] ?? "";
  const code = given.code ?? "";
  const wrong = !/^(https?|wss?):\/\//.test(url) || !URL.canParse(url)
    ? "Give the relay's address with --url or RELAY_URL."
    : code === ""
    ? "Give the one-time code with --code."
    : (given.token ?? given.tokenFile ?? given.tokenStdin) !== undefined
    ? "Pairing takes a code and no credential."
    : given.runAs !== undefined
    ? "--run-as belongs to `relay agent`."
    : null;
  if (wrong !== null) throw new UsageError(wrong);
  if (sendsInTheClear(url)) {
    log.warn(`the credential comes from ${url} unencrypted: use https beyond a trusted network`);
  }
  const stateDir = given.stateDir ?? defaultStateDir();
  const name = given.name ?? machine.hostname;
  const pairing = await pairMachine({ url, code, name, stateDir }, files);
  const { device_id, agent_name = name } = pairing;
  const rest = given.stateDir === undefined ? "" : ` --state ${given.stateDir}`;
  log.info(`paired as ${agent_name} (${device_id}); start it with: relay agent${rest}`);
  return 0;
}

/** Runs `relay agent trust`; resolves to the exit code. */
function trust({ key, stateDir = defaultStateDir() }: AgentArguments): number {
  const { log, files } = machineHost;
  if (key === undefined || publicKeyOf(key) === null) {
    throw new UsageError(
      "Give the relay's verdict key, as the agent printed it, with --key=<key>.",
    );
  }
  trustVerdictKey(stateDir, key, files);
  log.info("trusted; start the agent with: relay agent");
  return 0;
}

/** True when the credential would cross a network unencrypted. */
function sendsInTheClear(base: string): boolean {
  const { protocol, hostname } = new URL(base);
  const loopback = /^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
  return (protocol === "http:" || protocol === "ws:") && !loopback;
}
