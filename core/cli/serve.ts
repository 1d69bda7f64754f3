import { openStore } from "../../kv/maintenance/open.ts";
import { onStopSignal } from "./agent/host.ts";
import { VERSION } from "../protocol/protocol.ts";
import { readSettings, type Settings, unreadVariables } from "../context/context.ts";
import { isSealed, secretsOf } from "../host/host.ts";
import { shownLocation } from "../../kv/maintenance/location.ts";
import { type Running, startRelay, UNRECORDED } from "../start.ts";
import { systemClock, systemLog, systemPorts } from "../ports/ports.ts";

/** The time for close frames to leave before the server drops its WebSockets. */
const FAREWELL_MS = 50;
/** The time that running requests get when the server stops. */
const DRAIN_MS = 4_000;
/** The time to record what is in memory: longer than one delivery attempt, but a store that hangs must not block. */
const RECORD_MS = 15_000;

/** Answers a relay's requests: its endpoints and MCP. */
export interface Front {
  readonly handler: Deno.ServeHandler;
  /** Ends open MCP streams, which would keep the server from ending. */
  close(): void;
}

export interface Serving {
  /** True when a hosting platform starts and ends this process. */
  readonly hosted: boolean;
  readonly front: (running: Running) => Front;
  /** Receives the relay once it has started. */
  readonly started: (running: Running) => void;
}

/** Runs `relay serve` until it is stopped; resolves to the exit code. */
export async function serve({ hosted, front, started }: Serving): Promise<number> {
  const env = Deno.env.toObject();
  for (const unread of unreadVariables(env)) systemLog.warn(unread);
  let settings: Settings, running: Running | null = null;
  try {
    settings = readSettings(env, (path) => Deno.readTextFileSync(path), hosted);
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
  started(running);
  return await listen(running, settings, front(running), hosted);
}

async function listen(
  running: Running,
  settings: Settings,
  front: Front,
  hosted: boolean,
): Promise<number> {
  const { closeConnections, stop } = running;
  const { host: hostname, port, tls } = settings;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let server: Deno.HttpServer;
  try {
    const onListen = ({ port }: { port: number }) => greet(settings, port, running);
    server = hosted
      ? Deno.serve(front.handler)
      : Deno.serve({ hostname, port, ...tls, onListen, onError: failBare }, front.handler);
  } catch (error) {
    const { message: why, code } = error as Error & { code?: string };
    // Errors of the address have a system code; errors of the certificate or host name have none.
    const where = tls === null || code !== undefined
      ? "RELAY_HOST and RELAY_PORT"
      : "RELAY_TLS_CERT, RELAY_TLS_KEY and RELAY_HOST";
    console.error(`relay: cannot listen on ${hostname}:${port}: ${why}. Check ${where}.`);
    await stop();
    return 1;
  }
  if (hosted) return await new Promise<number>(() => {});
  onStopSignal(end);
  await ended;
  systemLog.info("stopping");
  closeConnections();
  front.close();
  await systemClock.sleep(FAREWELL_MS);
  await Promise.race([server.shutdown(), systemClock.sleep(DRAIN_MS)]);
  const late = systemClock.sleep(RECORD_MS).then(() => null);
  const recorded = await Promise.race([stop(), late]);
  if (recorded === null) {
    systemLog.error(UNRECORDED, { error: `it took over ${RECORD_MS / 1000} s` });
  }
  return recorded ? 0 : 1;
}

/** Answers when the server itself fails. Handlers answer their own errors. */
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

/** The instructions for the first signup. */
function firstSignup(url: string, withCode: boolean): string {
  const body = JSON.stringify({
    email: "you@example.com",
    password: "…",
    organization: "…",
    ...(withCode && { claim_code: "…" }),
  });
  return `

Nobody has signed up yet. The first account administers this relay. The answer holds a token for further requests.
  curl ${url}/api/v1/signup --json '${body}'`;
}
