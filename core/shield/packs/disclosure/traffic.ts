import { hasOption, wordsOf } from "../../programs/arguments.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";

/** The letters of a command's short options, each with its value; `valued` are the letters that take one. */
export function letters({ args }: SimpleCommand, valued: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === "--") break;
    if (!arg.startsWith("-") || arg.startsWith("--")) continue;
    for (let at = 1; at < arg.length; at++) {
      const letter = arg[at]!;
      if (!valued.includes(letter)) found.set(letter, "");
      else {
        found.set(letter, at + 1 < arg.length ? arg.slice(at + 1) : args[++i] ?? "");
        break;
      }
    }
  }
  return found;
}

const hasAny = (given: ReadonlyMap<string, string>, some: string): boolean =>
  [...some].some((letter) => given.has(letter));

/** A program that listens on the network: which options only read or list, and which show what is sent. */
interface Listener {
  readonly valued: string;
  /** It reads a file, lists devices or asks for help. */
  readonly quiet: string;
  /** It writes or prints what is sent; without letters it always does. */
  readonly shows?: string;
  readonly long?: readonly string[];
}

const READS_FILE: Listener = { valued: "rwiIofcsd", quiet: "rhVvI" };

const LISTENERS = new Map<string, Listener>([
  ["tcpdump", { valued: "BcCEFGijmMQrsTVwWyzZ", quiet: "rDdhL", shows: "wAXx" }],
  ["tshark", {
    valued: "abBcCdeEfFHijJKmMNoOrRsStTuUwWXyYz",
    quiet: "rDGhLv",
    shows: "weOTVx",
    long: ["--export-objects"],
  }],
  ["dumpcap", { valued: "abBcCfFiIsNwyk", quiet: "DLSdhv" }],
  ["termshark", { valued: "irwdYf", quiet: "rDhv" }],
  ["snoop", { valued: "cdinopstx", quiet: "i", shows: "oxvV" }],
  ["ngrep", { valued: "IOSAncdFPWsk", quiet: "IhVL" }],
  ...[
    "tcpflow",
    "tcpick",
    "ssldump",
    "httpry",
    "urlsnarf",
    "mailsnarf",
    "filesnarf",
    "msgsnarf",
    "sniffit",
    "justniffer",
    "airodump-ng",
    "sslsniff",
    "sslsniff-bpfcc",
    "ecapture",
  ].map((name) => [name, READS_FILE] as const),
  ["driftnet", { valued: "fidx", quiet: "fh" }],
  ["netsniff-ng", { valued: "iodfFmMtTRbcnsu", quiet: "hv" }],
]);

function listens(command: SimpleCommand): boolean {
  const known = LISTENERS.get(command.name);
  if (known === undefined) return listensByWords(command);
  const given = letters(command, known.valued);
  if (hasAny(given, known.quiet) || hasOption(command, "--list-interfaces", "--read-file")) {
    return false;
  }
  return known.shows === undefined || hasAny(given, known.shows) ||
    hasOption(command, ...(known.long ?? []));
}

/** Clients and consoles that show the traffic of others by a verb. */
function listensByWords(command: SimpleCommand): boolean {
  const words = wordsOf(command).map((word) => word.toLowerCase());
  switch (command.name) {
    case "kubectl":
      return words[0] === "sniff";
    case "kubeshark":
      return words[0] === "tap";
    case "netsh":
      return words[0] === "trace" && words[1] === "start";
    default:
      return words[0] === "start" && hasOption(command, "-c", "--capture");
  }
}

/** Programs that listen to what others send. */
export const TRAFFIC_RULES: readonly Rule[] = [
  rule({
    id: "network.capture",
    title: "Record or print what others send",
    commands: [...LISTENERS.keys(), "kubectl", "kubeshark", "netsh", "pktmon"],
    match: listens,
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It records or prints what others send over the network, passwords included.",
    safer: "Look at the headers only, and at few packets: tcpdump -nn -c 20 port 443.",
    hits: [
      "tcpdump -i any -A -s0 'tcp port 80'",
      "tcpdump -nni eth0 -w /tmp/all.pcap",
      "tshark -i eth0 -Y http.authbasic -T fields -e http.authbasic",
      "ngrep -q -W byline password tcp port 8080",
      "dumpcap -i eth0 -b filesize:1000",
    ],
    misses: [
      "tcpdump -D",
      "tcpdump -nn -r own.pcap -A -c 10",
      "tcpdump -i eth0 -nn -c 20 port 443",
      "tshark -r own.pcap -q -z io,phs",
      "ngrep -I own.pcap GET",
    ],
  }),
];
