import { RESTART_EXIT_CODE, runAgent } from "./agent.ts";
import {
  absolutePath,
  defaultStateDir,
  machineHost,
  onStopSignal,
  takeEnvironment,
} from "./host.ts";
import { type AgentArguments, parseAgentArguments } from "./arguments.ts";
import { describeAgent } from "./hello.ts";
import type { AgentOptions } from "./port.ts";

const HELP = `relay agent: run the commands of a relay on this machine

Usage:
  relay agent --url <url> (--token <token> | --token-file <file>) [options]

Options:
  --url <url>          The relay: http, https, ws or wss. Also from RELAY_URL.
  --token <token>      The agent's credential, or an API key with agents:admin. Other users of this
                       machine can see it in the list of processes: prefer the two ways below.
  --token-file <file>  Read the credential from a file. Also from RELAY_TOKEN, which is not passed on
                       to commands.
  --name <name>        How the relay lists this agent. Default: the host name.
  --label <key=value>  A label; may be given up to 16 times.
  --backup <path>      A file or folder that the relay may back up and restore; may be given up to 16
                       times. 16 MiB and 1,000 files in all. Nothing else is ever read or written.
  --state <directory>  Where the agent's key and its journal of started commands are kept.
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
  const given = parseAgentArguments(args);
  if (given === "help") {
    log.info(HELP);
    return 0;
  }
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

/** Adds what the environment and the token file say. */
function completeOptions(given: AgentArguments): AgentOptions | { failure: string } {
  const inherited = takeEnvironment("RELAY_TOKEN");
  const url = given.url ?? takeEnvironment("RELAY_URL");
  if (!url) return { failure: "The relay is missing: give --url or RELAY_URL." };
  if (!/^(https?|wss?):\/\//.test(url) || !URL.canParse(url)) {
    return { failure: `The URL "${url}" is not a http, https, ws or wss address.` };
  }
  let token = given.token ?? inherited;
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
    return { failure: "The credential is missing: give --token, --token-file or RELAY_TOKEN." };
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
    stateDir: given.stateDir ?? defaultStateDir(),
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
