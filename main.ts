import { agentCommand } from "./core/agent/cli.ts";
import { onStopSignal } from "./core/agent/host.ts";
import { VERSION } from "./core/app.ts";
import { auditCommand } from "./core/cli/audit.ts";
import { backupCommand, restoreCommand } from "./core/cli/backup.ts";
import { compactCommand } from "./core/cli/compact.ts";
import { demoCommand } from "./core/cli/demo.ts";
import { doctorCommand } from "./core/cli/doctor.ts";
import { keysCommand } from "./core/cli/keys.ts";
import { listenCommand } from "./core/cli/listen.ts";
import { passwordCommand } from "./core/cli/password.ts";
import { secretCommand } from "./core/cli/secret.ts";
import { housekeep } from "./core/housekeeping.ts";
import { type Running, startRelay, UNRECORDED } from "./core/start.ts";
import { readSettings, type Settings, shownLocation } from "./core/settings.ts";
import { secretsOf } from "./core/secrets/file.ts";
import { isSealed } from "./core/secrets/installation.ts";
import { systemClock, systemLog, systemPorts } from "./core/system.ts";
import { SETTINGS, unreadVariables } from "./core/variables.ts";
import { openStore } from "./kv/open.ts";
import { serveMcp } from "./mcp/endpoint.ts";
import { mount } from "./routes/_mount.ts";
import { routes, upgrades } from "./routes/index.ts";

/** Every command of the program. */
const COMMANDS: Readonly<
  Record<string, { about: string; run: (args: string[]) => Promise<number> }>
> = {
  serve: { about: "start the relay (what happens without a command)", run: serveCommand },
  agent: {
    about: "run commands of a relay on this machine: pair, --url, --token",
    run: agentCommand,
  },
  demo: { about: "show a relay, an agent and a webhook at work, in a minute", run: demoCommand },
  listen: { about: "receive webhooks on this machine: --url, --forward", run: listenCommand },
  audit: { about: "check an export of the audit log: verify <export>", run: auditCommand },
  secret: { about: "seal everything with a new secret: rotate", run: secretCommand },
  keys: { about: "new keys that sign: rotate verdict, rotate audit", run: keysCommand },
  password: { about: "a new password for a forgotten one: reset <email>", run: passwordCommand },
  backup: { about: "copy the store into a new folder, while the relay serves", run: backupCommand },
  restore: { about: "make a new store from a backup", run: restoreCommand },
  compact: { about: "give unused space of the store back to the disk", run: compactCommand },
  doctor: { about: "say what is wrong here, and what to do about it", run: doctorCommand },
  version: { about: "print the version", run: () => say(`relay ${VERSION}`) },
  help: { about: "print this text", run: () => say(help()) },
};

/** The server's own end of a WebSocket says nothing to its client: what we said goes out first. */
const FAREWELL_MS = 50;
/** How long requests under way may take when the server ends. */
const DRAIN_MS = 4_000;
/** How long it may take until what is in memory is recorded: a store that hangs must not hold up the end. */
const RECORD_MS = 10_000;
const hosted = Deno.env.get("DENO_DEPLOYMENT_ID") !== undefined ||
  Deno.env.get("DENO_DEPLOY") !== undefined;
let running: Running | null = null;

// The hosting platform finds schedules only at the top level; elsewhere the relay has its own timer.
const schedule = new AbortController();
Deno.cron("relay housekeeping", "* * * * *", { signal: schedule.signal }, async () => {
  if (running !== null) await housekeep(running.app);
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
  const warn = name === "serve"
    ? systemLog.warn
    : (text: string) => console.error(`warning: ${text}`);
  for (const unread of unreadVariables(Deno.env.toObject())) warn(unread);
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

/** `relay serve`: runs until it is told to stop. */
async function serveCommand(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) return await say(help());
  const fixtures = args[0] === "--mcp-fixtures";
  if (args.length > (fixtures ? 1 : 0)) {
    console.error(`relay serve takes no arguments, only settings.\n\n${settingsHelp()}`);
    return 2;
  }
  let settings: Settings;
  try {
    settings = readSettings(Deno.env.toObject(), (path) => Deno.readTextFileSync(path), hosted);
    if (fixtures && !settings.local) {
      throw new Error("--mcp-fixtures is only for a relay on a loopback address");
    }
    const opened = await openStore(settings.kv, systemClock);
    const ports = systemPorts(() =>
      (running?.app.config() ?? settings.config).outbound.allow_private_targets
    );
    const secrets = secretsOf(settings, ports.entropy, await isSealed(opened.store));
    running = await startRelay(opened, { ...settings, ...secrets }, ports);
  } catch (error) {
    console.error(`relay: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
  return await listen(running, settings, fixtures);
}

async function listen(running: Running, settings: Settings, fixtures: boolean): Promise<number> {
  const { app, stop } = running;
  const { host: hostname, port, tls } = settings;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const mcp = serveMcp(app, routes, { fixtures });
  const handler = mount(app, routes, upgrades, mcp.services);
  let server: Deno.HttpServer;
  try {
    const onListen = ({ port }: { port: number }) => greet(settings, port, running);
    server = hosted
      ? Deno.serve(handler)
      : Deno.serve({ hostname, port, ...tls, onListen, onError: failBare }, handler);
  } catch (error) {
    const { message: why, code } = error as Error & { code?: string };
    // What an address refuses has a code of the system; what a certificate or a name does has none.
    const where = tls === null || code !== undefined
      ? "RELAY_HOST and RELAY_PORT"
      : "RELAY_TLS_CERT, RELAY_TLS_KEY and RELAY_HOST";
    console.error(`relay: cannot listen on ${hostname}:${port}: ${why}. Look at ${where}.`);
    await stop();
    return 1;
  }
  if (hosted) return await new Promise<number>(() => {});
  onStopSignal(end);
  await ended;
  systemLog.info("stopping");
  app.streams.stop();
  mcp.close();
  app.links.closeAll("going_away");
  await systemClock.sleep(FAREWELL_MS);
  await Promise.race([server.shutdown(), systemClock.sleep(DRAIN_MS)]);
  const late = systemClock.sleep(RECORD_MS).then(() => null);
  const recorded = await Promise.race([stop(), late]);
  if (recorded === null) {
    systemLog.error(UNRECORDED, { error: `it took over ${RECORD_MS / 1000} s` });
  }
  return recorded ? 0 : 1;
}

/** Only a fault of the server's own gets here: every handler answers for itself. */
function failBare(error: unknown): Response {
  systemLog.error("a request could not be answered", { error: String(error) });
  return new Response(null, { status: 500 });
}

function greet(settings: Settings, port: number, { claimed, claimCode }: Running): void {
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  const url = settings.publicUrl ?? `${settings.tls ? "https" : "http"}://${host}:${port}`;
  console.log(`Relay ${VERSION} is ready at ${url}
  reference  ${url}/docs
  store      ${settings.kv === null ? "the attached database" : shownLocation(settings.kv)}
  signup     ${settings.signup}${claimCode === null ? "" : `, first with claim_code ${claimCode}`}${
    claimed ? "" : firstSignup(url, claimCode !== null)
  }`);
}

/** What to do with a relay that is nobody's yet. */
function firstSignup(url: string, withCode: boolean): string {
  const body = JSON.stringify({
    email: "you@example.com",
    password: "…",
    organization: "…",
    ...(withCode && { claim_code: "…" }),
  });
  return `

Nobody has signed up yet: who does so first runs this relay. The answer holds a token for the rest.
  curl ${url}/api/v1/signup --json '${body}'`;
}
