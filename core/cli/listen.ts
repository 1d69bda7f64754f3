import { Buffer } from "node:buffer";
import { relayAddress } from "./address.ts";
import { UsageError } from "./arguments.ts";
import { runCommand } from "./command.ts";
import { onStopSignal } from "./process.ts";
import { systemEntropy } from "../ports/ports.ts";
import { type ListenHost, listenLoop, type ListenOptions } from "./listen_loop.ts";

const HELP = `relay listen: receive webhooks on this machine, without a public address

Usage:
  relay listen --forward <url> [--url <relay>] (--token <key> | --token-file <file>) [options]

Follows the relay's events with an API key and sends each to a local address, signed like a webhook.

Options:
  --forward <url>      The local address, such as http://localhost:3000/hook.
  --url <url>          The relay. Also from RELAY_URL; default: http://127.0.0.1:9081.
  --token <key>        An API key that may read the events. Also from RELAY_TOKEN.
  --token-file <file>  Read the key from a file.
  --secret <secret>    The signing secret. Also from RELAY_WEBHOOK_SECRET; default: a new one.
  --types <a,b>        Only events of these types.
  --since <number>     Begin after this event; default: new events only.
  --help               Show this text.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  the relay refused the key
  2  wrong arguments
`;

const SECRET_BYTES = 24;

const machine: ListenHost = {
  request: (url, init) => fetch(url, init),
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  say: (line) => console.log(line),
};

export const LISTEN_TEXTS = [
  "forward",
  "url",
  "token",
  "token-file",
  "secret",
  "types",
  "since",
] as const;
type Options = { readonly [name in (typeof LISTEN_TEXTS)[number]]?: string };

/** `relay listen`: runs until it is stopped; resolves to the exit code. */
export function listenCommand(args: string[]): Promise<number> {
  return runCommand({
    name: "listen",
    help: HELP,
    texts: LISTEN_TEXTS,
    run: (options) => listen(listenOptions(options, Deno.env.toObject(), Deno.readTextFileSync)),
  }, args);
}

async function listen(options: ListenOptions): Promise<void> {
  console.log(`listening to ${options.url}, forwarding to ${options.forward}`);
  console.log(`signed with ${options.secret}`);
  const controller = new AbortController();
  const forget = onStopSignal(() => {
    controller.abort();
    Deno.exit(0);
  });
  const refused = await listenLoop(options, machine, controller.signal);
  forget();
  if (refused !== null) throw new Error(refused);
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The options with what the environment and the defaults add. @throws {UsageError} */
export function listenOptions(
  options: Options,
  env: Environment,
  readText: (path: string) => string,
): ListenOptions {
  const { forward, since, types = null } = options;
  if (forward === undefined) throw new UsageError("The target is missing: give --forward.");
  if (!isHttp(forward)) {
    throw new UsageError(`The address "${forward}" is not an http or https address.`);
  }
  const url = relayAddress(options.url ?? (env["RELAY_URL"] || "http://127.0.0.1:9081"));
  const file = options["token-file"];
  const token = (file === undefined ? options.token ?? env["RELAY_TOKEN"] : readKey(file, readText))
    ?.trim();
  if (!token) {
    throw new UsageError("The API key is missing: give --token, --token-file or RELAY_TOKEN.");
  }
  if (since !== undefined && !/^\d{1,15}$/.test(since)) {
    throw new UsageError(`"${since}" is not an event number.`);
  }
  return {
    url,
    token,
    forward,
    secret: options.secret ?? (env["RELAY_WEBHOOK_SECRET"] || makeSecret()),
    types,
    since: since === undefined ? null : Number(since),
  };
}

function readKey(file: string, readText: (path: string) => string): string {
  try {
    return readText(file);
  } catch (error) {
    throw new UsageError(
      `The token file "${file}" cannot be read: ${(error as Error).message}.`,
    );
  }
}

const makeSecret = () =>
  `whsec_${Buffer.from(systemEntropy.bytes(SECRET_BYTES)).toString("base64")}`;

const isHttp = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? "");
