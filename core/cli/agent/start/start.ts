import { readInputLine } from "../../process.ts";
import { relayAddress } from "../../address.ts";
import { UsageError } from "../../arguments.ts";
import { findAccount } from "./account.ts";
import type { AgentArguments } from "./arguments.ts";
import { describeAgent } from "../link/hello.ts";
import {
  absolutePath,
  defaultStateDir,
  hostRunningAs,
  machineHost,
  ownUser,
  takeEnvironment,
} from "../host.ts";
import { type Pairing, readPairing } from "./pair.ts";
import type { AgentHost, AgentOptions } from "../interfaces.ts";
import { findToken } from "./token.ts";
import { UPGRADE_VARIABLE } from "../upgrade/process.ts";

/** The settled options of an agent. */
export interface Start {
  readonly options: AgentOptions;
  readonly host: AgentHost;
  /** True when commands run as the agent's own user. */
  readonly ownRights: boolean;
  readonly warnings: readonly string[];
  /** The agent's own variables, which commands do not get. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Adds what the environment, the token's source and an earlier pairing say. @throws {UsageError} */
export function readStart(given: AgentArguments): Start {
  try {
    return startOf(given);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** @throws {Error} with a sentence that names what is wrong */
function startOf(given: AgentArguments): Start {
  if (given.code !== undefined) throw new Error("--code belongs to `relay agent pair`.");
  if (given.key !== undefined) throw new Error("--key belongs to `relay agent trust`.");
  const environment = takeEnvironment();
  const stateDir = given.stateDir ?? defaultStateDir();
  const { files, tree } = machineHost;
  const found = findToken(given, { files, tree, environment, stdin: readInputLine });
  const paired: Pairing | null = found.token === null ? readPairing(stateDir, files) : null;
  const address = given.url ?? environment["RELAY_URL"] ?? paired?.url;
  if (!address) throw new Error("The relay is missing: give --url or RELAY_URL.");
  const url = relayAddress(address);
  if (paired !== null && url !== relayAddress(paired.url)) {
    throw new Error(`This machine is paired with ${paired.url}, not with ${url}.`);
  }
  const token = (found.token ?? paired?.credential)?.trim();
  if (!token) {
    throw new Error(
      "The credential is missing: run `relay agent pair`, or give --token-file or --token-stdin.",
    );
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Error("The credential contains invalid characters.");
  }
  const options = {
    url,
    token,
    ...(given.name === undefined ? {} : { name: given.name }),
    labels: given.labels,
    backup: given.backup.map(absolutePath),
    stateDir,
    upgrade: environment[UPGRADE_VARIABLE] ?? null,
  };
  const facts = describeAgent(options, machineHost);
  if ("failure" in facts) throw new Error(facts.failure);
  const { runAs } = given;
  const host = runAs === undefined ? machineHost : hostRunningAs(findAccount(runAs));
  const warnings = [found.warning, ...runAs === undefined ? [sharedUser(stateDir)] : []];
  return {
    options,
    host,
    ownRights: runAs === undefined,
    environment,
    warnings: warnings.filter((warning) => warning !== null),
  };
}

/** Advice for commands that have the agent's own rights, if there is any. */
function sharedUser(stateDir: string): string | null {
  if (ownUser() === 0) {
    return "commands run as root and can read this agent's credential and keys: give them a user " +
      "with --run-as";
  }
  return isKnownFolder(stateDir)
    ? null
    : `the shield recognizes a state directory by its name: name it relay-agent instead of ${stateDir}`;
}

/** True when the shield guards a folder of this name; see core/shield/programs/agent_state.ts. */
const isKnownFolder = (path: string): boolean =>
  absolutePath(path).split("/").at(-1)!.startsWith("relay-agent");
