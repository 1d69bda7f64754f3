import type { Inner } from "../../interpreter/inner.ts";
import { once, type SimpleCommand } from "../../model.ts";
import { hasFlag, operands, optionValues } from "../arguments.ts";
import type { Family, Finder } from "../family.ts";
import { printsSettings } from "../flows.ts";
import { afterFirst, always, bang, bangLines, lastOperand, valuesOf } from "../texts.ts";

/** Programs that OpenSSH starts by its settings. */
function sshPrograms(command: SimpleCommand): string[] {
  return optionValues(command, "-o").flatMap((value) => SSH_PROGRAM.exec(value)?.[1] ?? []);
}

const SSH_PROGRAM = /^\s*(?:proxy|local|knownhosts|remote)command\s*[=\s]\s*(.*)$/is;

/** The copier's own `-S program` and `-D program`; to ssh itself they are a socket and a port. */
const copierPrograms = (command: SimpleCommand) => [
  ...sshPrograms(command),
  ...optionValues(command, "-S", "-D"),
];

/** The files that are copied to another machine; none for a local target. */
function copiedAway(command: SimpleCommand): readonly string[] {
  const paths = operands(command);
  return (paths.at(-1) ?? "").includes(":") ? paths.slice(0, -1) : [];
}

/** The files and folders of this machine that are copied. */
const copied: Finder = (command) =>
  operands(command).slice(0, -1).filter((path) => !path.includes(":"));

/** Where a copy goes, on whichever machine: `web1:/etc/nginx/` is judged as `/etc/nginx/` here. */
const copiedTo: Finder = (command) =>
  lastOperand(command).map((path) => path.replace(/^[^/~]*:(?=[/~])/, ""));

/** The files of `put file`, on standard input or in an option. */
const puts: Finder = (command) => once(command, findPuts);

function findPuts(command: SimpleCommand): readonly string[] {
  const told = [command.stdin?.text ?? "", ...optionValues(command, "-c", "-e"), ...command.args];
  return told.flatMap((text) => text.split(/[\n;]/))
    .concat(command.args.join(" "))
    .flatMap((line) => PUT.exec(line)?.[1]?.split(/\s+/) ?? []);
}

const PUT = /(?:^|\s)(?:m?put|-u)\s+(.*)/;

/** `SYSTEM:text`, `EXEC:program`: one end of socat. */
const SOCAT_PROGRAMS = new Set(["SYSTEM", "EXEC", "SHELL"]);
/** `FILE:/etc/shadow`, one end of socat. */
const SOCAT_FILE = /^(?:file|open|gopen):([^,]*)/i;

/** What a raw connection is told, as calls of the clients that say the same: HTTP, Redis. */
function rawRequests({ stdin, args }: SimpleCommand): Inner[] {
  const lines = (stdin?.text ?? "").split(/\r?\n/).slice(0, RAW_LINES_MAX);
  const words = args.filter((arg) => !arg.startsWith("-"));
  const port = words.at(-1) ?? "", host = words.at(-2) ?? "";
  return lines.flatMap((line): Inner[] => {
    const request = HTTP_REQUEST.exec(line);
    if (request !== null) {
      const [, method = "", path = ""] = request;
      return [{ kind: "argv", argv: ["curl", "-X", method, `http://${host}:${port}${path}`] }];
    }
    const told = line.trim().split(/\s+/);
    return port === "6379" && told[0] !== ""
      ? [{ kind: "argv", argv: ["redis-cli", ...told] }]
      : [];
  });
}

const RAW_LINES_MAX = 16;
const HTTP_REQUEST = /^(GET|POST|PUT|PATCH|DELETE) (\/\S*) HTTP\//;

const NETCAT_LETTERS = "cegGiIoOpPqsTVwWxX";

const LFTP_FILE = /\bget\s.*?-o\s*(\S+)/;

/** Programs that log in to another machine, copy to it or talk to it. */
export const REMOTE: readonly Family[] = [
  {
    names: ["ssh", "autossh", "mosh", "slogin", "rsh"],
    wrappers: [{
      short: "BbcDEeFIiJLlmOopQRSWwM",
      long: "ssh predict port",
      skip: 1,
      mode: "shell",
    }],
  },
  { names: ["ssh"], runs: sshPrograms, output: "network" },
  {
    names: ["ssh", "slogin", "rsh", "autossh"],
    ownEnvironment: always,
    opensShell: always,
  },
  { names: ["ssh", "slogin", "autossh"], valuedLetters: "BbcDEeFIiJLlmOopQRSWw" },
  { names: ["ssh-agent"], wrappers: [{}], prints: printsSettings },
  { names: ["keychain"], prints: printsSettings },
  { names: ["sshpass"], wrappers: [{ short: "pfdP" }] },
  {
    names: ["tsh"],
    wrappers: [{ verbs: "ssh", short: "lipJ", long: "login proxy", skip: 1, mode: "shell" }],
    opensShell: always,
  },
  {
    names: ["scp"],
    valuedLetters: "cDFiJloPSX",
    runs: copierPrograms,
    reads: "shown",
    descends: true,
    readsBelow: (command) => hasFlag(command, "r") ? copied(command) : [],
    writes: copiedTo,
    sends: copiedAway,
  },
  {
    names: ["sftp"],
    valuedLetters: "BbcDFiJloPRSsX",
    runs: (command) => command.stdin === null ? copierPrograms(command) : bangLines(command),
    output: "network",
    sends: puts,
  },
  {
    names: ["rsync"],
    valuedLetters: "eMfTB@",
    runs: ["-e", "--rsh", "--rsync-path"],
    reads: "elsewhere",
    descends: true,
    readsBelow: copied,
    writes: copiedTo,
    sends: copiedAway,
  },
  { names: ["rclone"], writes: copiedTo, descends: true, readsBelow: copied, sends: copiedAway },
  { names: ["ftp"], runs: bangLines, output: "network", sends: puts },
  { names: ["tftp"], output: "network", sends: puts },
  {
    names: ["lftp"],
    runs: (command) => [
      ...bangLines(command),
      ...optionValues(command, "-c", "-e").flatMap(bang),
    ],
    output: "network",
    sends: puts,
  },
  {
    names: ["lftp"],
    writes: (command) =>
      optionValues(command, "-c", "-e").flatMap((text) => LFTP_FILE.exec(text)?.[1] ?? []),
  },
  {
    names: ["ssh-keygen"],
    writes: (command) => hasFlag(command, "lyBFHRrLQDeipc") ? [] : valuesOf("-f")(command),
  },
  { names: ["smbclient"], sends: puts },
  {
    names: ["socat"],
    runs: ({ args }) =>
      args.flatMap((arg) =>
        SOCAT_PROGRAMS.has(arg.slice(0, arg.indexOf(":")).toUpperCase())
          ? [afterFirst(arg, ":")]
          : []
      ),
    output: "network",
    sends: ({ args }) => args.map((arg) => SOCAT_FILE.exec(arg)?.[1] ?? ""),
  },
  {
    names: ["ncat"],
    valuedLetters: NETCAT_LETTERS,
    runs: ["-c", "--sh-exec", "-e", "--exec"],
    output: "network",
  },
  { names: ["nc", "netcat"], valuedLetters: NETCAT_LETTERS, output: "network" },
  { names: ["nc", "ncat", "netcat", "telnet"], codes: rawRequests, takesInput: true },
  {
    names: ["telnet", "s_client", "dig", "host", "nslookup"],
    output: "network",
  },
];
