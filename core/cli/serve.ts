import { openStore } from "../../kv/maintenance/open.ts";
import { agentPrograms } from "./agent_programs.ts";
import { storeBackups } from "./backup.ts";
import { onStopSignal } from "./process.ts";
import { VERSION } from "../protocol/protocol.ts";
import {
  type Environment,
  readSettings,
  type Settings,
  unreadVariables,
} from "../context/context.ts";
import { isSealed, secretsOf } from "../host/host.ts";
import { examineCommand } from "../shield/shield.ts";
import { shownLocation } from "../../kv/maintenance/location.ts";
import { type Running, startRelay, UNRECORDED } from "../start.ts";
import {
  openTracing,
  type Ports,
  systemClock,
  systemEntropy,
  systemLog,
  systemPorts,
} from "../ports/ports.ts";

/** The time for close frames to leave before the server drops its WebSockets. */
const FAREWELL_MS = 50;
/** The time that running requests get when the server stops. */
const DRAIN_MS = 4_000;
/** The time to record what is in memory: longer than one delivery attempt, but a store that hangs must not block. */
const RECORD_MS = 15_000;

/** The first command builds most tables of the shield. After this time Relay judges one, so that no caller waits. */
const WARM_MS = 1_000;
/** A program with a table of subcommands. */
const WARMING = "gh";

/** The ports that do not depend on the settings. */
export const SYSTEM_PORTS = { clock: systemClock, entropy: systemEntropy, log: systemLog };

/** Answers a relay's requests: its endpoints and MCP. */
export interface Front {
  readonly handler: Deno.ServeHandler;
  /** Ends open MCP streams, which would keep the server from ending. */
  close(): void;
}

/** What `relay serve` serves. */
export interface Serving {
  readonly front: (running: Running) => Front;
  /** Answers when a handler throws, or when there is no relay to answer. Logs errors other than faults. */
  readonly refuse: (ports: Pick<Ports, "clock" | "entropy" | "log">, error: unknown) => Response;
}

/** The switches of `relay serve`. */
export interface ServeSwitches {
  /** Other processes of the same user may listen on its port too. */
  readonly sharePort: boolean;
  /** It stops when standard input ends, as it does when the process at the other end dies. */
  readonly stopWithStdin: boolean;
}

/** Runs `relay serve` until it is stopped; resolves to the exit code. */
export async function serve(
  load: () => Promise<Serving>,
  { sharePort, stopWithStdin }: ServeSwitches,
): Promise<number> {
  const env = Deno.env.toObject();
  for (const unread of unreadVariables(env)) systemLog.warn(unread);
  let started: Started, serving: Serving;
  try {
    [started, serving] = await Promise.all([startFrom(env, false), load()]);
  } catch (error) {
    console.error(`relay: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
  const { running, settings } = started;
  const { front, refuse } = serving;
  const { host: hostname, port, tls } = settings;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const { handler, close } = front(running);
  let server: Deno.HttpServer;
  try {
    const onListen = ({ port }: { port: number }) => greet(settings, port, running);
    const onError = (error: unknown) => refuse(SYSTEM_PORTS, error);
    const address = { hostname, port, reusePort: sharePort };
    server = Deno.serve({ ...address, ...tls, onListen, onError }, handler);
  } catch (error) {
    const { message: why, code } = error as Error & { code?: string };
    // Errors of the address have a system code; errors of the certificate or host name have none.
    const where = tls === null || code !== undefined
      ? "RELAY_HOST and RELAY_PORT"
      : "RELAY_TLS_CERT, RELAY_TLS_KEY and RELAY_HOST";
    console.error(`relay: cannot listen on ${hostname}:${port}: ${why}. Check ${where}.`);
    await running.stop();
    return 1;
  }
  onStopSignal(end);
  systemClock.after(WARM_MS, () => examineCommand(WARMING));
  if (stopWithStdin) Deno.stdin.readable.pipeTo(new WritableStream()).finally(end);
  await ended;
  return await stopServing(server, running, close, DRAIN_MS) ? 0 : 1;
}

/** A relay that runs with its settings. */
export interface Started {
  readonly running: Running;
  readonly settings: Settings;
}

/** Starts a relay with the settings of an environment. @throws {Error} that says what to change */
export async function startFrom(env: Environment, hosted: boolean): Promise<Started> {
  let running: Running | null = null;
  const settings = readSettings(env, (path) => Deno.readTextFileSync(path), hosted);
  const opened = await openStore(settings.kv, systemClock);
  const ports = systemPorts(
    () => (running?.app.config() ?? settings.config).outbound.allow_private_targets,
    {
      programs: agentPrograms(settings.given.RELAY_AGENT_PROGRAMS),
      storeBackups: storeBackups(env),
      tracing: await openTracing(env),
      logLevel: settings.given.RELAY_LOG_LEVEL,
    },
  );
  try {
    const secrets = secretsOf(settings, ports.entropy, await isSealed(opened.store));
    running = await startRelay(opened, { ...settings, ...secrets }, ports);
    return { running, settings };
  } catch (error) {
    await opened.close().catch(() => {}); // the first error says more
    throw error;
  }
}

/** Stops a server and its relay; false when something could not be recorded. Running requests get `drainMs` to end. */
export async function stopServing(
  server: Deno.HttpServer,
  { closeConnections, stop }: Running,
  close: () => void,
  drainMs: number,
): Promise<boolean> {
  systemLog.info("stopping");
  closeConnections();
  close();
  await systemClock.sleep(FAREWELL_MS);
  await Promise.race([server.shutdown(), systemClock.sleep(drainMs)]);
  const late = systemClock.sleep(RECORD_MS).then(() => null);
  const recorded = await Promise.race([stop(), late]);
  if (recorded === null) {
    systemLog.error(UNRECORDED, { error: `it took over ${RECORD_MS / 1000} s` });
  }
  return recorded ?? false;
}

function greet(settings: Settings, port: number, { claimed, claimCode }: Running): void {
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  const at = (host: string) =>
    settings.publicUrl ?? `${settings.tls ? "https" : "http"}://${host}:${port}`;
  const url = at(host);
  // A browser needs an address of this machine, not of all its interfaces.
  const page = `${at(/^(0\.0\.0\.0|\[::\])$/.test(host) ? "127.0.0.1" : host)}/console`;
  console.log(`Relay ${VERSION} is ready at ${url}
  console    ${page}
  reference  ${url}/docs
  store      ${shownLocation(settings.kv!)}
  signup     ${settings.signup}${claimCode === null ? "" : `, first with claim_code ${claimCode}`}${
    claimed ? "" : firstSignup(url, page, claimCode !== null)
  }`);
}

/** The instructions for the first signup. */
const firstSignup = (url: string, page: string, withCode: boolean): string => `

Nobody has signed up yet. The first account administers this relay. Create it in a browser:
  ${page}
or in a terminal, where you type the password or pass it by a pipe:
  relay login --url ${url} --email you@example.com --password-stdin --sign-up <organization>${
  withCode ? " --claim-code <code>" : ""
}`;
