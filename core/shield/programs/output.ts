import { hasFlag, operands } from "./arguments.ts";
import {
  type Flow,
  FROM_NETWORK,
  FROM_SECRET,
  known,
  mergeFlows,
  NOTHING,
  once,
  type SimpleCommand,
  textFlow,
  UNKNOWN,
} from "../model.ts";
import { decodeBase32, decodeBase64, decodeHex, expandSet, translate } from "../code/decode.ts";
import { isAccounts, namedFile } from "./bulk.ts";
import { factsOf } from "./families.ts";
import { isSecret } from "./secrets.ts";
import { writeEcho, writeFormat } from "./format.ts";
import { copyText } from "./lines.ts";
import { type ReadFile, STDIN_PATHS } from "../interpreter/inner.ts";

const OUTPUT = factsOf("output");
const READS = factsOf("reads");
const LISTS = factsOf("lists");
const DUMPS = factsOf("dumps");

/** Without arguments these print every variable, tokens included. */
const ENVIRONMENT = new Set(["env", "printenv", "set", "export", "declare", "history"]);
/** The output of a command, as far as it can be told without running it. */
export function computeOutput(command: SimpleCommand, readFile: ReadFile): Flow {
  const incoming = command.stdin ?? NOTHING;
  const { name, args } = command;
  switch (name) {
    case "echo":
      return writtenFlow(writeEcho(args));
    case "printf":
      return writtenFlow(writeFormat(args));
    case "yes":
      return textFlow(`${args.length === 0 ? "y" : args.join(" ")}\n`);
    case "which":
    case "command":
    case "type":
    case "whereis":
      return writtenFlow(onlyOperand(command));
    case "basename":
    case "dirname":
      return writtenFlow(writePath(command));
    case "pwd":
      return textFlow(".\n");
    case "pidof":
    case "pgrep":
      return textFlow(`${UNKNOWN}${operands(command, FINDER_VALUED).at(-1) ?? ""}\n`);
    case "mktemp":
      return textFlow(`/tmp/${UNKNOWN}\n`);
    case "cat":
    case "tee":
    case "head":
    case "tail":
    case "nl":
    case "tac":
    case "less":
    case "more":
    case "bat":
    case "sponge":
    case "pv":
    case "sort":
    case "uniq":
    case "dd":
    case "buffer":
    case "mbuffer":
      return name === "tee" || name === "sponge" || name === "pv"
        ? incoming
        : copy(command, readAll(command, incoming, readFile));
    case "rev":
      return incoming.text === null
        ? { ...incoming, decoded: true }
        : known(reverseLines(incoming.text), incoming);
    case "base64":
    case "gbase64":
    case "base32": {
      const read = readAll(command, incoming, readFile);
      return hasFlag(command, "dD", "decode")
        ? decode(read, name === "base32" ? decodeBase32 : decodeBase64)
        : opaque(read);
    }
    case "xxd":
      return args.some((arg) => arg.startsWith("-r")) || hasFlag(command, "r")
        ? decode(readAll(command, incoming, readFile), decodeHex)
        : opaque(incoming);
    case "tr":
      return writeTranslation(command, incoming);
    case "openssl":
      if (args[0] === "s_client") return { ...opaque(incoming), network: true };
      if (
        incoming.text !== null && (args.includes("base64") || args.includes("-base64")) &&
        args.includes("-d")
      ) return decode(incoming, decodeBase64);
      break;
  }
  const lists = LISTS.get(name);
  if (lists !== undefined) return { ...incoming, ...lists(command) };
  const origin = OUTPUT.get(name);
  if (origin === "network") return { ...opaque(incoming), network: true };
  if (ENVIRONMENT.has(name) && operands(command).length === 0) {
    return { ...opaque(incoming), secret: true };
  }
  if (name === "aws" && args.includes("s3") && args.includes("-")) {
    return { ...opaque(incoming), network: true };
  }
  const read = readsSecret(command) || (command.inputs?.secret ?? false);
  const bulk = incoming.bulk || readsBulk(command) || (command.inputs?.bulk ?? false);
  if (
    origin === "decoded" ||
    (origin === "decoded_by_option" && hasFlag(command, "d", "decompress", "uncompress"))
  ) {
    return { ...opaque(incoming), decoded: true, secret: incoming.secret || read, bulk };
  }
  return { ...opaque(incoming), secret: incoming.secret || read, bulk };
}

/** Options of pgrep and pidof whose value is no program's name. */
const FINDER_VALUED = new Set(["-d", "-g", "-G", "-o", "-P", "-s", "-t", "-u", "-U"]);

/** The flow of a text that a command writes; null stands for an unknown text. */
const writtenFlow = (text: string | null): Flow => text === null ? NOTHING : textFlow(text);

/** The only operand, as a line; null where there are several. */
function onlyOperand(command: SimpleCommand): string | null {
  const words = operands(command);
  return words.length > 1 ? null : `${words[0] ?? ""}\n`;
}

const reverseLines = (text: string): string =>
  text.split("\n").map((line) => [...line].reverse().join("")).join("\n");

function copy(command: SimpleCommand, flow: Flow): Flow {
  return flow.text === null ? flow : { ...flow, text: copyText(command, flow.text) };
}

function opaque(flow: Flow): Flow {
  return { ...flow, text: null };
}

function decode(flow: Flow, by: (text: string) => string): Flow {
  return flow.text === null
    ? { ...flow, decoded: true }
    : { ...flow, text: by(flow.text).replaceAll("\0", ""), decoded: true };
}

/** Programs that show or copy the files that they are given. */
export const READERS: readonly string[] = [...READS]
  .flatMap(([name, reads]) => reads === "elsewhere" ? [] : [name]);

/** Whether a command opens a file of credentials. */
export function readsSecret(command: SimpleCommand): boolean {
  return once(command, opensSecret);
}

function opensSecret(command: SimpleCommand): boolean {
  const reads = READS.get(command.name);
  if (reads === undefined) return false;
  for (const arg of typeof reads === "function" ? reads(command) : command.args) {
    if (isSecret(arg.startsWith("if=") ? arg.slice(3) : arg)) return true;
  }
  return command.redirections.some((one) => one.operator === "<" && isSecret(one.target));
}

/** Whether a command writes out a database, a container, or whole folders of the system or of people. */
function readsBulk(command: SimpleCommand): boolean {
  return DUMPS.get(command.name)?.(command) ?? operands(command).some(isAccounts);
}

function readAll(command: SimpleCommand, incoming: Flow, readFile: ReadFile): Flow {
  const paths = command.name === "dd"
    ? command.args.filter((arg) => arg.startsWith("if=")).map((arg) => arg.slice(3))
    : operands(command, COUNTS).filter((path) => !path.startsWith("+"));
  if (paths.every((path) => STDIN_PATHS.has(path))) return incoming;
  return mergeFlows(
    paths.map((path) => STDIN_PATHS.has(path) ? incoming : readFile(path) ?? namedFile(path)),
  );
}

const COUNTS = new Set(["-n", "-c", "--lines", "--bytes", "-w", "--wrap", "-k", "-t", "-l", "-s"]);

/** What `basename path .end` or `dirname path` writes; null with options, or for several paths. */
function writePath({ name, args }: SimpleCommand): string | null {
  const known = args.length <= (name === "basename" ? 2 : 1) &&
    !args.some((arg) => arg.startsWith("-"));
  return known ? `${cutPath(name, args)}\n` : null;
}

function cutPath(name: string, [raw = UNKNOWN, end = ""]: readonly string[]): string {
  const path = /^\/+$/.test(raw) ? "/" : raw.replace(/^(.*[^/])\/+$/s, "$1");
  const at = path.lastIndexOf("/");
  if (name === "dirname") return at < 0 ? "." : at === 0 ? "/" : path.slice(0, at);
  const last = path.slice(at + 1);
  return end !== "" && last.endsWith(end) && last !== end ? last.slice(0, -end.length) : last;
}

function writeTranslation(command: SimpleCommand, incoming: Flow): Flow {
  if (incoming.text === null) return incoming;
  const [from = "", to = ""] = operands(command);
  const plain = !hasFlag(command, "cCst", "complement", "squeeze-repeats", "truncate-set1");
  if (hasFlag(command, "d", "delete")) {
    const drop = plain ? expandSet(from) : null;
    if (drop === null) return opaque(incoming);
    const dropped = new Set(drop);
    return known([...incoming.text].filter((c) => !dropped.has(c)).join(""), incoming);
  }
  const text = plain ? translate(incoming.text, from, to) : null;
  return text === null
    ? { ...opaque(incoming), decoded: true }
    : known(text, { ...incoming, decoded: true });
}

/** Whether an argument carries something of that origin. */
export function carries(
  args: readonly string[],
  origin: typeof FROM_NETWORK | typeof FROM_SECRET,
): boolean {
  return args.some((arg) => arg.includes(origin));
}
