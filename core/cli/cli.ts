/**
 * The commands of the program. Each loads its own code when it is asked for, so that an agent carries no relay
 * and the help starts at once.
 */

import manifest from "../../deno.json" with { type: "json" };
import type { Environment } from "../context/context.ts";
import { GROUPS } from "./remote/table.ts";
import type { Hosted } from "./hosted.ts";
import type { Serving } from "./serve.ts";

/** What main.ts hands to the commands. */
export interface Startup {
  readonly env: Environment;
  /** Loads what `relay serve` serves. */
  serving(): Promise<Serving>;
}

interface Command {
  readonly about: string;
  readonly run: (args: string[], startup: Startup) => Promise<number>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { about: "start the relay (the default command)", run: serveCommand },
  agent: {
    about: "run the commands of a relay on this machine: pair, --url, --token-file",
    run: async (args) => (await import("./agent/cli.ts")).agentCommand(args),
  },
  demo: {
    about: "show a relay, an agent, a command and webhooks on this machine",
    run: async (args) => (await import("./demo.ts")).demoCommand(args),
  },
  secret: {
    about: "seal everything with a new secret: rotate",
    run: async (args) => (await import("./secret.ts")).secretCommand(args),
  },
  "signing-keys": {
    about: "replace signing keys: rotate verdict, rotate audit",
    run: async (args) => (await import("./signing_keys.ts")).signingKeysCommand(args),
  },
  password: {
    about: "replace a forgotten password: reset <email>",
    run: async (args) => (await import("./password.ts")).passwordCommand(args),
  },
  backup: {
    about: "copy the store into a new folder while the relay serves",
    run: async (args) => (await import("./backup.ts")).backupCommand(args),
  },
  restore: {
    about: "create a new store from a backup",
    run: async (args) => (await import("./backup.ts")).restoreCommand(args),
  },
  compact: {
    about: "return unused space of the store to the disk",
    run: async (args) => (await import("./compact.ts")).compactCommand(args),
  },
  doctor: {
    about: "diagnose this installation",
    run: async (args) => (await import("./doctor.ts")).doctorCommand(args),
  },
  health: {
    about: "check that the relay on this machine answers, for health checks",
    run: async (args) => (await import("./health.ts")).healthCommand(args),
  },
  completion: {
    about: "print a script that completes commands: bash, zsh, fish",
    run: async (args) => (await import("./completion.ts")).completionCommand(args, firstWords()),
  },
  version: { about: "print the version and the commit", run: printVersion },
  help: { about: "print this text", run: () => print(help()) },
};

/** A relay logs warnings about variables itself, and the others start at once. */
const UNWARNED = ["serve", "help", "version", "completion"];

/** Runs the command that the arguments name; resolves to the exit code. */
export async function runProgram(given: readonly string[], startup: Startup): Promise<number> {
  const { name, args } = commandOf(given);
  if (Object.hasOwn(GROUPS, name)) {
    const { machine, runRemote } = await import("./remote/remote.ts");
    return await runRemote(name, args, machine);
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    console.error(
      `There is no command ${JSON.stringify(name)}.${await suggestion(name)}\n\n${help()}`,
    );
    return 2;
  }
  if (!UNWARNED.includes(name)) await warnOfUnread(startup.env);
  return await command.run(args, startup);
}

const firstWords = () => [...Object.keys(GROUPS), ...Object.keys(COMMANDS)];

/** The command that a misspelt name probably means, as the end of a sentence. */
async function suggestion(name: string): Promise<string> {
  const { nearestOf } = await import("../codec/codec.ts");
  const near = nearestOf(name, firstWords());
  return near === undefined ? "" : ` Did you mean relay ${near}?`;
}

/** Loads the table of the variables only when one is set, so that a command starts at once. */
async function warnOfUnread(env: Environment): Promise<void> {
  if (!Object.keys(env).some((name) => /^relay_/i.test(name))) return;
  const { unreadVariables } = await import("../context/context.ts");
  for (const warning of unreadVariables(env)) console.error(`warning: ${warning}`);
}

/** Serves where a hosting platform started this program. */
export async function runHosted(startup: Pick<Startup, "serving">): Promise<Hosted> {
  const { serveHosted } = await import("./hosted.ts");
  return serveHosted(startup.serving);
}

function commandOf(
  [first = "serve", ...rest]: readonly string[],
): { name: string; args: string[] } {
  const name = first === "--help" || first === "-h"
    ? "help"
    : first === "--version"
    ? "version"
    : first;
  // npm users write `--` between a task and its options.
  const args = rest[0] === "--" ? rest.slice(1) : rest;
  const [about = "-"] = args;
  return name === "help" && !about.startsWith("-")
    ? { name: about, args: ["--help"] }
    : { name, args };
}

async function serveCommand(args: string[], startup: Startup): Promise<number> {
  const { runCommand } = await import("./command.ts");
  return await runCommand({
    name: "serve",
    help: await serveHelp(),
    texts: ["instances"],
    switches: ["share-port", "stop-with-stdin"],
    async run({
      instances,
      "share-port": sharePort = false,
      "stop-with-stdin": stopWithStdin = false,
    }) {
      if (instances !== undefined) {
        const { instanceCount, serveInstances } = await import("./instances.ts");
        return await serveInstances(instanceCount(instances));
      }
      const { serve } = await import("./serve.ts");
      return await serve(startup.serving, { sharePort, stopWithStdin });
    },
  }, args);
}

const SERVE_OPTIONS = [
  ["--instances <number>", "run 2 to 16 processes on one port; needs Linux and a KV Connect URL"],
  ["--share-port", "listen on the port beside other processes of the same user (Linux)"],
  ["--stop-with-stdin", "stop when standard input ends"],
] as const;

const help = () =>
  `Relay ${manifest.version}: run commands on remote machines, inspected, audited and streamed.

Usage: relay [command] [options]

Work with a relay:
${columns(Object.entries(GROUPS))}

Run a relay and its agents:
${columns(Object.entries(COMMANDS).map(([name, { about }]) => [name, about]))}

Examples:
  relay login --url relay.example.com
  relay exec web-1 -- uptime

\`relay <command> --help\` describes one command.`;

async function serveHelp(): Promise<string> {
  const { ENVIRONMENT } = await import("../context/context.ts");
  const settings = Object.entries(ENVIRONMENT).map(([name, { meaning, default: value }]) =>
    [name, value === undefined ? meaning : `${meaning} (${value})`] as const
  );
  return `relay serve: start the relay

Usage:
  relay serve [options]

Options:
${columns(SERVE_OPTIONS)}

Settings, from the environment:
${columns(settings)}`;
}

/** Columns of a terminal that the help fills. */
const HELP_WIDTH = 100;

/** Names and texts side by side. Long texts are wrapped. */
function columns(entries: readonly (readonly [name: string, text: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length)) + 4;
  const lines = RegExp(`(?=.{${HELP_WIDTH - width}})(.{1,${HELP_WIDTH - width}}) `, "g");
  return entries.map(([name, text]) =>
    `  ${name}`.padEnd(width) + text.replaceAll(lines, `$1\n${" ".repeat(width)}`)
  ).join("\n");
}

/** Characters of a commit that people compare. */
const COMMIT_CHARS = 12;

async function printVersion(): Promise<number> {
  const { commitOf } = await import("./commit.ts");
  const commit = commitOf()?.slice(0, COMMIT_CHARS) ?? "unknown";
  return await print(`relay ${manifest.version} (commit ${commit})`);
}

function print(text: string): Promise<number> {
  console.log(text);
  return Promise.resolve(0);
}

export type { Hosted } from "./hosted.ts";
export type { Serving } from "./serve.ts";
