import type { Running } from "./core/start.ts";
import { VERSION } from "./core/work/work.ts";
import { SETTINGS, unreadVariables } from "./core/work/variables.ts";

/** A command of the program; its code is loaded when it is asked for, so that an agent carries no relay. */
interface Command {
  readonly about: string;
  readonly run: (args: string[]) => Promise<number>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { about: "start the relay (what happens without a command)", run: serveCommand },
  agent: {
    about: "run commands of a relay on this machine: pair, --url, --token",
    run: async (args) => (await import("./core/cli/agent/cli.ts")).agentCommand(args),
  },
  demo: {
    about: "show a relay, an agent and a webhook at work, in a minute",
    run: async (args) => (await import("./core/cli/demo.ts")).demoCommand(args),
  },
  listen: {
    about: "receive webhooks on this machine: --url, --forward",
    run: async (args) => (await import("./core/cli/listen.ts")).listenCommand(args),
  },
  audit: {
    about: "check an export of the audit log: verify <export>",
    run: async (args) => (await import("./core/cli/audit.ts")).auditCommand(args),
  },
  secret: {
    about: "seal everything with a new secret: rotate",
    run: async (args) => (await import("./core/cli/secret.ts")).secretCommand(args),
  },
  keys: {
    about: "new keys that sign: rotate verdict, rotate audit",
    run: async (args) => (await import("./core/cli/keys.ts")).keysCommand(args),
  },
  password: {
    about: "a new password for a forgotten one: reset <email>",
    run: async (args) => (await import("./core/cli/password.ts")).passwordCommand(args),
  },
  backup: {
    about: "copy the store into a new folder, while the relay serves",
    run: async (args) => (await import("./core/cli/backup.ts")).backupCommand(args),
  },
  restore: {
    about: "make a new store from a backup",
    run: async (args) => (await import("./core/cli/backup.ts")).restoreCommand(args),
  },
  compact: {
    about: "give unused space of the store back to the disk",
    run: async (args) => (await import("./core/cli/compact.ts")).compactCommand(args),
  },
  doctor: {
    about: "say what is wrong here, and what to do about it",
    run: async (args) => (await import("./core/cli/doctor.ts")).doctorCommand(args),
  },
  version: { about: "print the version", run: () => say(`relay ${VERSION}`) },
  help: { about: "print this text", run: () => say(help()) },
};

const hosted = Deno.env.get("DENO_DEPLOYMENT_ID") !== undefined ||
  Deno.env.get("DENO_DEPLOY") !== undefined;
let serving: Running | null = null;

// The hosting platform finds schedules only at the top level; elsewhere the relay has its own timer.
const schedule = new AbortController();
Deno.cron("relay housekeeping", "* * * * *", { signal: schedule.signal }, async () => {
  await serving?.housekeep();
});

if (import.meta.main || hosted) await main();

async function main(): Promise<void> {
  if (!hosted) schedule.abort();
  const { name, args } = asked(Deno.args);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    console.error(`There is no command ${JSON.stringify(name)}.\n\n${help()}`);
    Deno.exit(2);
  }
  // A relay tells it in its log.
  if (name !== "serve") {
    for (const unread of unreadVariables(Deno.env.toObject())) console.error(`warning: ${unread}`);
  }
  const code = await command.run(args);
  if (!hosted) Deno.exit(code);
}

/** The command that is asked for, and its arguments. */
function asked([first = "serve", ...rest]: readonly string[]): { name: string; args: string[] } {
  const name = first === "--help" || first === "-h"
    ? "help"
    : first === "--version"
    ? "version"
    : first;
  // Whoever comes from npm writes it between a task and its options.
  const args = rest[0] === "--" ? rest.slice(1) : rest;
  const [about = "-"] = args;
  return name === "help" && !about.startsWith("-")
    ? { name: about, args: ["--help"] }
    : { name, args };
}

function help(): string {
  const commands = Object.entries(COMMANDS).map(([name, { about }]) => [name, about] as const);
  return `Relay ${VERSION}: run commands on remote machines, inspected, audited and streamed.

Usage: relay [command] [options]

${columns(commands)}

\`relay <command> --help\` tells more of one.

${settingsHelp()}`;
}

function settingsHelp(): string {
  return `Settings of \`relay serve\`, from the environment:\n${columns(Object.entries(SETTINGS))}`;
}

/** Names and what is said of them, side by side. */
function columns(entries: readonly (readonly [name: string, about: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  const lines = entries.map(([name, about]) =>
    `  ${name.padEnd(width)}  ${about.replaceAll("\n", `\n${" ".repeat(width + 4)}`)}`
  );
  return lines.join("\n");
}

function say(text: string): Promise<number> {
  console.log(text);
  return Promise.resolve(0);
}

/** `relay serve`: the endpoints and MCP before a relay. */
async function serveCommand(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) return await say(help());
  if (args.length > 0) {
    console.error(`relay serve takes no arguments, only settings.\n\n${settingsHelp()}`);
    return 2;
  }
  const { serve } = await import("./core/cli/serve.ts");
  const { serveMcp } = await import("./mcp/endpoint.ts");
  const { mount } = await import("./routes/http/mount.ts");
  const { routes, upgrades } = await import("./routes/index.ts");
  return await serve({
    hosted,
    front({ app }) {
      const mcp = serveMcp(app, routes);
      return { handler: mount(app, routes, upgrades, mcp.services), close: () => mcp.close() };
    },
    started: (running) => serving = running,
  });
}
