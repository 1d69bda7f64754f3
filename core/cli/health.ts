import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { get as getByTls } from "node:https";
import { once } from "node:events";
import { runCommand } from "./command.ts";
import { ownSettings, type Settings } from "./own_settings.ts";

const HELP = `relay health: check that the relay on this machine answers

Usage:
  relay health

Asks the relay at RELAY_HOST and RELAY_PORT for /healthz, for supervisors and health checks of
containers. It reads the settings of \`relay serve\` from the environment, and needs no credential.

Options:
  --help   Show this text.

Exit codes:
  0  the relay answers
  1  it does not
  2  wrong arguments
`;

/** The time in which a relay must answer. */
const ANSWER_MS = 2_000;

/** Runs `relay health`; resolves to the exit code. */
export function healthCommand(args: string[]): Promise<number> {
  return runCommand({ name: "health", help: HELP, run: checkHealth }, args);
}

/** @throws {Error} that says why nothing answers */
async function checkHealth(): Promise<void> {
  const settings = ownSettings();
  const { host, port } = addressOf(settings);
  const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  let status: number | undefined;
  try {
    status = await askHealth(settings);
  } catch (error) {
    const { message } = error as Error;
    const hint = message.includes("Expected HTTP/")
      ? ": it may serve HTTPS, so give RELAY_TLS_CERT and RELAY_TLS_KEY as to the relay"
      : "";
    throw new Error(`no relay answers at ${where}: ${message}${hint}`);
  }
  if (status !== 200) throw new Error(`${where} answers ${status} to GET /healthz`);
  console.log(`a relay answers at ${where}`);
}

async function askHealth(settings: Settings): Promise<number | undefined> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const options = { ...addressOf(settings), path: "/healthz", signal, agent: false };
  // The certificate is for the relay's public name, and this does not leave the machine.
  const request: ClientRequest = settings.tls === null
    ? get(options)
    : getByTls({ ...options, rejectUnauthorized: false });
  const [response] = await once(request, "response") as [IncomingMessage];
  response.destroy();
  return response.statusCode;
}

/** Where a program of this machine reaches the relay. */
function addressOf({ host, port }: Settings): { host: string; port: number } {
  const anywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return { host: anywhere[host] ?? host, port };
}
