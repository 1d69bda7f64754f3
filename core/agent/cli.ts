import { RESTART_EXIT_CODE, runAgent } from "./agent.ts";
import {
  absolutePath,
  defaultStateDir,
  machineHost,
  onStopSignal,
  takeEnvironment,
} from "./host.ts";
import { type AgentArguments, parseAgentArguments } from "./arguments.ts";
import { type Pairing, pairMachine, readPairing } from "./pair.ts";
import { describeAgent } from "./hello.ts";
import type { AgentOptions } from "./port.ts";

const HELP = `relay agent: run the commands of a relay on this machine

Usage:
  relay agent pair --url <url> --code <code> [--name <name>] [--state <directory>]
  relay agent [options]                       after relay agent pair
  relay agent --url <url> (--token <token> | --token-file <file>) [options]

Options:
  --url <url>          The relay: http, https, ws or wss. Also from RELAY_URL.
  --token <token>      The agent's credential, or an API key with agents:admin. Other users of this
                       machine can see it in the list of processes: prefer the two ways below.
  --token-file <file>  Read the credential from a file. Also from RELAY_TOKEN, which is not passed on
                       to commands.
  --name <name>        How the relay lists this agent. Default: the host name.
  --label <key=value>  A label; may be given up to 16 times.
  --code <code>        The one-time code for pairing: POST /api/devices/pairing-codes
                       makes one. The credential that it brings is kept in the state directory.
  --backup <path>      A file or folder that the relay may back up and restore; may be given up to 16
                       times. 16 MiB and 1,000 files in all. Nothing else is ever read or written.
  --state <directory>  Where the agent's key, its credential and its journal of started commands
                       are kept.
                       Default: relay-agent in the user's state directory.
  --help               Show this text.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  refused by the relay for good, or the state directory cannot be used
  2  wrong arguments
`;

/** Runs `relay agent`: parses its arguments and keeps the agent going; resolves to the exit code. */
export async function agentCommand(args: string[]): Promise<number> {
  const { log } = machineHost;
  const pairs = args[0] === "pair";
  const given = parseAgentArguments(pairs ? args.slice(1) : args);
  if (given === "help") {
    log.info(HELP);
    return 0;
  }
  if (pairs && !("failure" in given)) return await pair(given);
  const options = "failure" in given ? given : completeOptions(given);
  if ("failure" in options) {
    log.error(`${options.failure} See: relay agent --help`);
    return 2;
  }

  if (sendsInTheClear(options.url)) {
    log.warn(`the link to ${options.url} is not encrypted: use https beyond a trusted network`);
  }

  const controller = new AbortController();
  const forget = onStopSignal(() => controller.abort());
  try {
    for (;;) {
      const code = await runAgent({ ...options, signal: controller.signal }, machineHost);
      if (code !== RESTART_EXIT_CODE || controller.signal.aborted) return code;
    }
  } catch (error) {
    log.error(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    forget();
  }
}

/** Runs `relay agent pair`; resolves to the exit code. */
async function pair(given: AgentArguments): Promise<number> {
  const { log, files, machine } = machineHost;
  const url = given.url ?? takeEnvironment("RELAY_URL") ?? "";
  const code = given.code ?? "";
  const wrong = !/^(https?|wss?):\/\//.test(url) || !URL.canParse(url)
    ? "Give the relay's address with --url or RELAY_URL."
    : code === ""
    ? "Give the one-time code with --code."
    : given.token !== undefined || given.tokenFile !== undefined
    ? "Pairing takes a code and no credential."
    : null;
  if (wrong !== null) {
    log.error(`${wrong} See: relay agent --help`);
    return 2;
  }
  if (sendsInTheClear(url)) {
    log.warn(`the credential comes from ${url} unencrypted: use https beyond a trusted network`);
  }
  const stateDir = given.stateDir ?? defaultStateDir();
  const name = given.name ?? machine.hostname;
  try {
    const { device_id } = await pairMachine({ url, code, name, stateDir }, files);
    const rest = given.stateDir === undefined ? "" : ` --state ${given.stateDir}`;
    log.info(`paired as ${name} (${device_id}); start it with: relay agent${rest}`);
    return 0;
  } catch (error) {
    log.error(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

/** Adds what the environment, the token file and an earlier pairing say. */
function completeOptions(given: AgentArguments): AgentOptions | { failure: string } {
  if (given.code !== undefined) return { failure: "--code belongs to `relay agent pair`." };
  const inherited = takeEnvironment("RELAY_TOKEN");
  const stateDir = given.stateDir ?? defaultStateDir();
  const named = given.token ?? given.tokenFile ?? inherited;
  let paired: Pairing | null = null;
  try {
    if (named === undefined) paired = readPairing(stateDir, machineHost.files);
  } catch (error) {
    return { failure: (error as Error).message };
  }
  const url = given.url ?? takeEnvironment("RELAY_URL") ?? paired?.url;
  if (paired !== null && url !== paired.url) {
    return { failure: `This machine is paired with ${paired.url}, not with ${url}.` };
  }
  if (!url) return { failure: "The relay is missing: give --url or RELAY_URL." };
  if (!/^(https?|wss?):\/\//.test(url) || !URL.canParse(url)) {
    return { failure: `The URL "${url}" is not a http, https, ws or wss address.` };
  }
  let token = given.token ?? inherited ?? paired?.credential;
  if (given.token === undefined && given.tokenFile !== undefined) {
    try {
      token = machineHost.files.read(given.tokenFile) ?? undefined;
    } catch (error) {
      return { failure: `The token file "${given.tokenFile}" cannot be read: ${error}.` };
    }
    if (token === undefined) return { failure: `There is no token file "${given.tokenFile}".` };
  }
  token = token?.trim();
  if (!token) {
    return {
      failure: "The credential is missing: run `relay agent pair`, or give --token, --token-file " +
        "or RELAY_TOKEN.",
    };
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    return { failure: "The credential holds characters that no credential has." };
  }
  const options = {
    url,
    token,
    ...(given.name === undefined ? {} : { name: given.name }),
    labels: given.labels,
    backup: given.backup.map(absolutePath),
    stateDir,
  };
  const facts = describeAgent(options, machineHost);
  return "failure" in facts ? facts : options;
}

/** True when the credential would cross a network unencrypted. */
function sendsInTheClear(base: string): boolean {
  const { protocol, hostname } = new URL(base);
  const loopback = /^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
  return (protocol === "http:" || protocol === "ws:") && !loopback;
}
