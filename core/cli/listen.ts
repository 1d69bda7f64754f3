import { Buffer } from "node:buffer";
import { parseArgs } from "node:util";
import { onStopSignal } from "./agent/host.ts";
import { systemEntropy } from "../ports/system.ts";
import { type ListenHost, listenLoop, type ListenOptions } from "./listen_loop.ts";

const HELP = `relay listen: receive webhooks on this machine, without an address of its own

Usage:
  relay listen --forward <url> [--url <relay>] (--token <key> | --token-file <file>) [options]

Follows the relay's events with an API key and sends each to a local address, signed as a webhook is.

Options:
  --forward <url>      Where to send them, such as http://localhost:3000/hook.
  --url <url>          The relay. Also from RELAY_URL; http://127.0.0.1:9081 unless given.
  --token <key>        An API key that may read the events. Also from RELAY_TOKEN.
  --token-file <file>  Read the key from a file.
  --secret <secret>    What to sign with. Also from RELAY_WEBHOOK_SECRET; made and shown unless given.
  --types <a,b>        Only events of these types.
  --since <number>     Begin behind this event; what happens from now on unless given.
  --help               Show this text.

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  the relay refuses
  2  wrong arguments
`;

const SECRET_BYTES = 24;

const machine: ListenHost = {
  request: (url, init) => fetch(url, init),
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  say: (line) => console.log(line),
};

/** `relay listen`: runs until it is told to stop; resolves to the exit code. */
export async function listenCommand(args: string[]): Promise<number> {
  const options = readListenOptions(args, Deno.env.toObject(), Deno.readTextFileSync);
  if (options === "help") {
    console.log(HELP);
    return 0;
  }
  if (typeof options === "string") {
    console.error(`${options} See: relay listen --help`);
    return 2;
  }
  console.log(`listening to ${options.url}, forwarding to ${options.forward}`);
  console.log(`signed with ${options.secret}`);
  const controller = new AbortController();
  const forget = onStopSignal(() => {
    controller.abort();
    Deno.exit(0);
  });
  const refused = await listenLoop(options, machine, controller.signal);
  forget();
  if (refused === null) return 0;
  console.error(`relay listen: ${refused}`);
  return 1;
}

/** What the arguments and the environment say: `"help"`, or a sentence that names what is wrong. */
export function readListenOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  readText: (path: string) => string,
): ListenOptions | string {
  const text = { type: "string" } as const;
  let given: Partial<Record<string, string | boolean>>;
  let twice: string | undefined;
  try {
    const { values, tokens } = parseArgs({
      args: [...args],
      tokens: true,
      options: {
        forward: text,
        url: text,
        token: text,
        "token-file": text,
        secret: text,
        types: text,
        since: text,
        help: { type: "boolean", short: "h" },
      },
    });
    given = values;
    const names = tokens.flatMap((token) => token.kind === "option" ? [token.name] : []);
    twice = names.find((name, at) => names.indexOf(name) < at);
  } catch (error) {
    return `${(error as Error).message.split(". ")[0]}.`;
  }
  if (given["help"]) return "help";
  if (twice !== undefined) return `The option --${twice} may be given only once.`;
  const said = (name: string) => given[name] as string | undefined;
  const forward = said("forward");
  if (forward === undefined) return "Where to is missing: give --forward.";
  if (!isHttp(forward)) return `The address "${forward}" is not a http or https address.`;
  const url = said("url") ?? (env["RELAY_URL"] || "http://127.0.0.1:9081");
  if (!isHttp(url)) return `The URL "${url}" is not a http or https address.`;
  let token = said("token") ?? env["RELAY_TOKEN"];
  const file = said("token-file");
  if (file !== undefined) {
    try {
      token = readText(file);
    } catch (error) {
      return `The token file "${file}" cannot be read: ${(error as Error).message}.`;
    }
  }
  if (!token?.trim()) return "The API key is missing: give --token, --token-file or RELAY_TOKEN.";
  const since = said("since");
  if (since !== undefined && !/^\d{1,15}$/.test(since)) return `"${since}" is no event's number.`;
  const made = () => `whsec_${Buffer.from(systemEntropy.bytes(SECRET_BYTES)).toString("base64")}`;
  return {
    url,
    token: token.trim(),
    forward,
    secret: said("secret") ?? (env["RELAY_WEBHOOK_SECRET"] || made()),
    types: said("types") ?? null,
    since: since === undefined ? null : Number(since),
  };
}

const isHttp = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? "");
