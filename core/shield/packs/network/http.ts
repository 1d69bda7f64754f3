import { hasFlag, hasOption, operands, optionValues, wordsOf } from "../../programs/arguments.ts";
import { once, type SimpleCommand } from "../../model.ts";

/** What a client asks of a service, as far as its arguments tell. */
export interface HttpRequest {
  /** In capitals. */
  readonly method: string;
  readonly urls: readonly string[];
  /** The data that it sends; `@file` where that stands in a file. */
  readonly body: string;
  /** Sent with a password, a token or a client's certificate. */
  readonly signed: boolean;
}

/** Clients of HTTP, as they are typed. */
const CURLS = ["curl", "curlie"];
const WGETS = ["wget", "wget2"];
const HTTPIES = ["http", "https", "xh", "xhs"];
const CMDLETS = ["iwr", "irm", "invoke-restmethod", "invoke-webrequest"];
export const HTTP_CLIENTS: readonly string[] = [
  ...CURLS,
  ...WGETS,
  ...HTTPIES,
  ...CMDLETS,
  "gh",
  "glab",
  "az",
];

/** Whether a cluster only tries the call: `/api/v1/…?dryRun=All`. */
export function isTried(url: string): boolean {
  const [path = "", query = ""] = url.split("?", 2);
  return /\/apis?\//.test(path) && query.split("&").includes("dryRun=All");
}

/** The request of a client; null for a call that makes none. */
export const requestOf = (command: SimpleCommand): HttpRequest | null => once(command, readRequest);

function readRequest(command: SimpleCommand): HttpRequest | null {
  const { name } = command;
  if (onlyPrintsRequest(command)) return null;
  if (CURLS.includes(name)) return readCurl(command);
  if (WGETS.includes(name)) return readWget(command);
  if (HTTPIES.includes(name)) return readHttpie(command);
  if (CMDLETS.includes(name)) return readCmdlet(command);
  const words = wordsOf(command);
  if (name === "az") return words[0] === "rest" ? readAzRest(command) : null;
  return words[0] === "api" ? readForge(command, words) : null;
}

/** Options of HTTPie and xh that print the request instead of sending it. */
const onlyPrintsRequest = (command: SimpleCommand): boolean =>
  HTTPIES.includes(command.name) && hasOption(command, "--offline", "--curl", "--curl-long");

const CURL_DATA = [
  "-d",
  "--data",
  "--data-ascii",
  "--data-binary",
  "--data-raw",
  "--data-urlencode",
  "--json",
];

/** Options that `curl -K -` reads, a line each: `request = DELETE`. */
function readConfig(command: SimpleCommand): SimpleCommand {
  const text = command.stdin?.text ?? "";
  if (text === "" || !optionValues(command, "-K", "--config").includes("-")) return command;
  const options = text.split("\n").flatMap((line) => {
    const [, name, value = ""] = /^\s*([\w-]+)[\s=:]+"?([^"]*)/.exec(line) ?? [];
    return name === undefined ? [] : [`--${name.replace(/^--/, "")}`, value.trim()];
  });
  return { ...command, args: [...command.args, ...options] };
}

function readCurl(call: SimpleCommand): HttpRequest {
  const command = readConfig(call);
  const data = optionValues(command, ...CURL_DATA);
  const forms = optionValues(command, "-F", "--form", "--form-string");
  const files = optionValues(command, "-T", "--upload-file");
  const implied = hasFlag(command, "I", "head")
    ? "HEAD"
    : hasFlag(command, "G", "get")
    ? "GET"
    : files.length > 0
    ? "PUT"
    : data.length + forms.length > 0
    ? "POST"
    : "GET";
  return {
    method: last(optionValues(command, "-X", "--request")) ?? namedMethod(command) ?? implied,
    urls: [
      ...optionValues(command, "--unix-socket", "--abstract-unix-socket"),
      ...optionValues(command, "--url"),
      ...addressesOf(command),
    ],
    body: [...data, ...forms].join("&"),
    signed: hasOption(command, "-E", "--cert", "--oauth2-bearer", "--aws-sigv4", "-n", "--netrc") ||
      optionValues(command, "-u", "--user").length > 0 ||
      optionValues(command, "-H", "--header").some(isCredential),
  };
}

/** Names of files look like hosts (`ca.crt`), so that a scheme decides where one is given. */
function addressesOf({ args }: SimpleCommand): readonly string[] {
  const full = args.filter((arg) => /^https?:\/\//i.test(arg));
  return full.length > 0 ? full : args.filter(isAddress);
}

/** `curlie DELETE host/path`. */
function namedMethod(command: SimpleCommand): string | undefined {
  const [word = ""] = command.name === "curlie" ? wordsOf(command) : [];
  return METHODS.has(word.toUpperCase()) ? word.toUpperCase() : undefined;
}

function readWget(command: SimpleCommand): HttpRequest {
  const data = optionValues(command, "--post-data", "--body-data");
  const files = optionValues(command, "--post-file", "--body-file").map((path) => `@${path}`);
  return {
    method: last(optionValues(command, "--method")) ??
      (data.length + files.length > 0 ? "POST" : "GET"),
    urls: addressesOf(command),
    body: [...data, ...files].join("&"),
    signed: hasOption(command, "--user", "--http-user", "--certificate", "--private-key") ||
      optionValues(command, "--header").some(isCredential),
  };
}

const HTTPIE_VALUED = new Set(
  "-a --auth -A --auth-type --session --timeout --verify --cert --cert-key --proxy --raw -o --output -p --print -s --style"
    .split(" "),
);

/** `http [METHOD] URL [ITEM…]`: fields are sent by POST, `name==value` stands in the address. */
function readHttpie(command: SimpleCommand): HttpRequest {
  const words = operands(command, HTTPIE_VALUED);
  const named = /^[a-z]+$/i.test(words[0] ?? "") && METHODS.has((words[0] ?? "").toUpperCase());
  const [address = "", ...items] = named ? words.slice(1) : words;
  const fields = items.filter((item) => /^[^:=@]+(?:=(?!=)|:=|@)/.test(item));
  const piped = command.stdin !== null || command.redirections.some((one) => one.operator === "<");
  return {
    method: named
      ? (words[0] ?? "").toUpperCase()
      : fields.length > 0 || piped || hasOption(command, "--raw")
      ? "POST"
      : "GET",
    urls: [address],
    body: [...fields, ...optionValues(command, "--raw")].join("&"),
    signed: hasFlag(command, "aA", "auth", "auth-type", "bearer") || items.some(isCredential),
  };
}

function readCmdlet(command: SimpleCommand): HttpRequest {
  const values = (names: readonly string[]) =>
    command.args.filter((_, i) => names.includes((command.args[i - 1] ?? "").toLowerCase()));
  return {
    method: last(values(["-method", "-custommethod", "-me", "-met"])) ?? "GET",
    urls: command.args.filter(isAddress),
    body: values(["-body", "-infile"]).join("&"),
    signed: command.args.some((arg) =>
      ["-headers", "-credential", "-token", "-certificate"].includes(arg.toLowerCase())
    ),
  };
}

function readAzRest(command: SimpleCommand): HttpRequest {
  return {
    method: last(optionValues(command, "--method", "-m")) ?? "GET",
    urls: optionValues(command, "--uri", "--url", "-u"),
    body: optionValues(command, "--body", "-b").join("&"),
    signed: true,
  };
}

/** `gh api` and `glab api`: fields are sent by POST. */
function readForge(command: SimpleCommand, words: readonly string[]): HttpRequest {
  const fields = optionValues(command, "-f", "-F", "--field", "--raw-field");
  const files = optionValues(command, "--input");
  const path = words.find((word) => word !== "api" && (word.includes("/") || word === "graphql")) ??
    words[1] ?? "";
  const host = command.name === "gh" ? "https://api.github.com/" : "https://gitlab.com/api/v4/";
  return {
    method: last(optionValues(command, "-X", "--method")) ??
      (fields.length + files.length > 0 ? "POST" : "GET"),
    urls: [isAddress(path) && path.includes("://") ? path : host + path.replace(/^\//, "")],
    body: [...fields, ...files.map((path) => `@${path}`)].join("&"),
    signed: true,
  };
}

/** The last of repeated options counts. */
const last = (values: readonly string[]): string | undefined => values.at(-1)?.toUpperCase();

const METHODS = new Set("GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PURGE LIST QUERY".split(" "));

/** `https://host/path`, `host:port`, `host.name/path`. */
export const isAddress = (word: string): boolean =>
  /^(?:https?:\/\/|[\w.-]+:\d{2,5}(?:\/|$)|(?:[\w-]+\.)+[a-z]{2,}(?:[:/?]|$)|localhost\b|:\d*\/)/i
    .test(word);

/** Whether a header proves who asks. */
function isCredential(header: string): boolean {
  const colon = header.indexOf(":");
  const name = header.slice(0, Math.max(0, colon)).toLowerCase();
  return CREDENTIALS.some((word) => name.includes(word));
}

const CREDENTIALS = ["auth", "cookie", "token", "apikey", "-key", "secret"];
