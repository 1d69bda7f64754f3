import { hasFlag, hasOption, operands, optionValues } from "../programs/arguments.ts";
import type { Rule, SimpleCommand } from "../model.ts";
import { classifyPath } from "../programs/paths.ts";
import { SHELLS } from "../programs/shells.ts";
import { sendsSecret, uploads } from "./sending.ts";

const CONNECTORS = [
  "nc",
  "ncat",
  "netcat",
  "nc.traditional",
  "nc.openbsd",
  "socat",
  "telnet",
  "openssl",
  "cryptcat",
  "pwncat",
];
/** Programs that can send something to another machine. */
export const SENDERS = [
  ...CONNECTORS,
  "curl",
  "wget",
  "http",
  "https",
  "xh",
  "ftp",
  "tftp",
  "lftp",
  "sftp",
  "scp",
  "rsync",
  "rclone",
  "mail",
  "mailx",
  "sendmail",
  "mutt",
  "ssh",
  "dig",
  "nslookup",
  "host",
  "ping",
  "gh",
  "aws",
  "az",
  "gcloud",
  "gsutil",
  "s3cmd",
  "s5cmd",
  "mc",
  "azcopy",
  "pastebinit",
  "iwr",
  "invoke-webrequest",
  "irm",
  "invoke-restmethod",
  "croc",
  "magic-wormhole",
  "wormhole",
  "transfer",
  "ffsend",
  "swaks",
  "smbclient",
  "pbcopy-remote",
];

function isNetworkDevice(target: string): boolean {
  return target.startsWith("/dev/tcp/") || target.startsWith("/dev/udp/");
}

function opensShell(command: SimpleCommand): boolean {
  if (command.name === "socat") {
    return command.args.some((arg) => {
      const lower = arg.toLowerCase();
      return lower.startsWith("exec:") || lower.startsWith("system:") || lower.startsWith("shell:");
    });
  }
  if (command.name === "openssl" || command.name === "telnet") return false;
  return hasFlag(command, "e", "exec", "sh-exec", "lua-exec") ||
    optionValues(command, "-c").some((value) => value.includes("sh"));
}

/** The addresses at which clouds hand out a machine's own credentials. */
export const METADATA = new RegExp(
  [
    "169.254.169.254",
    "metadata.google.internal",
    "100.100.100.200",
    "fd00:ec2::254",
    "169.254.170.2",
    "2852039166",
    "0xa9fea9fe",
  ].join("|").replaceAll(".", "\\."),
);
const LOADED = /https?:|javascript:|vbscript:|comsvcs|minidump/;
const ADDRESS = /^(?:git\+)?(?:https?|ssh):/;

/** `deno run https://…`, `uvx --from git+https://… x`: addresses behind the program are its own. */
function runsAddress(command: SimpleCommand): boolean {
  const words = operands(command);
  const program = words[0] === "run" || words[0] === "serve" ? words[1] : words[0];
  return ADDRESS.test(program ?? "") ||
    optionValues(command, "--from", "--spec", "--package").some((one) => ADDRESS.test(one));
}

const LISTENS = /-listen:/;

const mentions = (command: SimpleCommand, what: RegExp): boolean =>
  command.args.some((arg) => what.test(arg.toLowerCase()));

/** Data that leaves, shells that are handed out, requests that destroy at the other end. */
export const NETWORK_RULES: readonly Rule[] = [
  {
    id: "network.shell_over_socket",
    pack: "network",
    commands: null,
    also: ["redirected"],
    match: (command) =>
      command.redirections.some(({ target }) => isNetworkDevice(target)) &&
      (command.name === "" || command.name === "exec" || SHELLS.has(command.name)),
    blast: 5,
    irreversibility: 5,
    threat: "reverse_shell",
    explanation:
      "It ties a shell to a network connection, so that somebody else types into this machine.",
    safer_alternative: null,
  },
  {
    id: "network.raw_socket",
    pack: "network",
    commands: null,
    also: ["redirected"],
    match: (command) =>
      command.redirections.some(({ target }) => isNetworkDevice(target)) && command.name !== "" &&
      command.name !== "exec" && !SHELLS.has(command.name),
    blast: 3,
    irreversibility: 4,
    threat: "data_exfiltration",
    explanation:
      "It talks to the network through the shell itself, which few tools and no logs see.",
    safer_alternative: "Use curl, whose traffic can be seen.",
  },
  {
    id: "network.reverse_shell",
    pack: "network",
    commands: CONNECTORS,
    match: opensShell,
    blast: 5,
    irreversibility: 5,
    threat: "reverse_shell",
    explanation: "It hands a shell to whoever is at the other end of a connection.",
    safer_alternative: null,
  },
  {
    id: "network.shell_in_pipe",
    pack: "network",
    commands: [...SHELLS],
    match: (command) =>
      command.stdin !== null && command.stdin.text === null &&
      command.args.some((arg) => arg === "-i" || arg === "-li" || arg === "-il"),
    blast: 5,
    irreversibility: 4,
    threat: "reverse_shell",
    explanation:
      "An interactive shell takes its commands from a pipe, as shells tied to a connection do.",
    safer_alternative: null,
  },
  {
    id: "network.system_file_leaves",
    pack: "network",
    commands: ["curl", "wget"],
    match: (command) =>
      uploads(command).some((value) =>
        value.includes("@/") &&
        classifyPath(value.slice(value.lastIndexOf("@") + 1).split(";", 1)[0] ?? "") ===
          "system_part"
      ),
    blast: 3,
    irreversibility: 4,
    threat: "data_exfiltration",
    explanation: "It sends a file of the system to another machine.",
    safer_alternative: "Send the one line that is needed.",
  },
  {
    id: "network.secret_leaves",
    pack: "network",
    commands: SENDERS,
    match: sendsSecret,
    blast: 4,
    irreversibility: 5,
    threat: "data_exfiltration",
    explanation: "It sends keys, tokens or password hashes out of the machine.",
    safer_alternative: "Use a secret store, and give the other side its own credential.",
  },
  {
    id: "network.piped_out",
    pack: "network",
    commands: ["nc", "ncat", "netcat", "cryptcat", "croc", "wormhole", "telnet"],
    match: (command) =>
      command.stdin !== null && command.stdin.text === null && !hasFlag(command, "z"),
    blast: 3,
    irreversibility: 4,
    threat: "data_exfiltration",
    explanation: "It sends what another command writes to a raw connection.",
    safer_alternative: "Copy a named file with scp.",
  },
  {
    id: "network.loads_address",
    pack: "network",
    commands: ["mshta", "regsvr32", "rundll32", "msiexec", "installutil", "wscript", "cscript"],
    match: (command) => mentions(command, LOADED),
    blast: 5,
    irreversibility: 4,
    threat: "remote_code_execution",
    explanation: "It runs what an address holds, or code in its arguments, unseen and unchecked.",
    safer_alternative: "Download it to a file, check it, then run it.",
  },
  {
    id: "network.runs_address",
    pack: "network",
    commands: ["deno", "npx", "bunx", "pnpx", "uvx", "pipx"],
    match: runsAddress,
    blast: 3,
    irreversibility: 3,
    threat: "remote_code_execution",
    explanation: "It fetches a program from an address and runs it at once.",
    safer_alternative: "Run a pinned version from the registry, or read the program first.",
  },
  {
    id: "network.listener",
    pack: "network",
    commands: [
      "nc",
      "ncat",
      "netcat",
      "socat",
      "ngrok",
      "cloudflared",
      "chisel",
      "frpc",
      "bore",
      "localtunnel",
      "lt",
    ],
    match: (command) =>
      ["ngrok", "chisel", "frpc", "bore", "localtunnel", "lt"].includes(command.name) ||
      (command.name === "cloudflared" && command.args.includes("tunnel")) ||
      (command.name === "socat" && mentions(command, LISTENS)) ||
      (command.name !== "socat" && hasFlag(command, "l", "listen")),
    blast: 3,
    irreversibility: 3,
    threat: "remote_access",
    explanation: "It opens this machine to connections from outside.",
    safer_alternative: "Use a port that your administrators have opened.",
  },
  {
    id: "network.metadata",
    pack: "network",
    commands: [
      "curl",
      "wget",
      "http",
      "xh",
      "nc",
      "ncat",
      "fetch",
      "lynx",
      "iwr",
      "invoke-webrequest",
      "irm",
      "aria2c",
    ],
    match: (command) => mentions(command, METADATA),
    blast: 4,
    irreversibility: 3,
    threat: "credential_access",
    explanation:
      "It asks the cloud's metadata service, which hands out the machine's own credentials.",
    safer_alternative: "Use the cloud's tool, which asks for a short-lived credential itself.",
  },
  {
    id: "network.delete_request",
    pack: "network",
    commands: [
      "curl",
      "wget",
      "http",
      "https",
      "xh",
      "httpie",
      "gh",
      "iwr",
      "irm",
      "invoke-restmethod",
      "invoke-webrequest",
      "glab",
      "curlie",
    ],
    match: deletesRemotely,
    blast: 3,
    irreversibility: 4,
    threat: "remote_deletion",
    explanation: "It asks a service to delete something.",
    safer_alternative: "Read the same address with GET first, and take a backup.",
  },
];

const DESTRUCTIVE_PATHS = [
  "_delete_by_query",
  "dodelete",
  "/delete?",
  "/destroy",
  "/purge",
  "/wipe",
  "_close",
  "_flush_all",
  "/shutdown",
  "/drop",
  "/truncate",
  "/terminate",
  "/doWipeOutWorkspace".toLowerCase(),
  "/_shutdown",
  "/_forcemerge?only_expunge",
  "/quit",
  "/-/quit",
  "delete_series",
  "/kill",
  "/safeexit",
  "/exit",
  "/saferestart",
];

const OVERRIDE = "x-http-method-override: delete";

function overridesMethod(arg: string): boolean {
  return (arg.charCodeAt(0) | 0x20) === LETTER_X &&
    arg.slice(0, OVERRIDE.length).toLowerCase() === OVERRIDE;
}

const LETTER_X = 0x78;

function deletesRemotely(command: SimpleCommand): boolean {
  const methods = optionValues(command, "-X", "--request", "--method", "-Method").map((value) =>
    value.toUpperCase()
  );
  if (methods.includes("DELETE") || methods.includes("PURGE")) return true;
  if (
    ["http", "https", "xh", "httpie"].includes(command.name) &&
    command.args.some((arg) => arg === "DELETE" || arg === "delete")
  ) return true;
  if (command.args.some(overridesMethod)) return true;
  const writes = methods.some((method) => method === "POST" || method === "PUT") ||
    (methods.length === 0 && hasOption(command, "-d", "--data", "--json"));
  return writes && command.args.some((arg) => {
    const url = arg.toLowerCase();
    const bare = url.split("?", 1)[0] ?? "";
    return DESTRUCTIVE_PATHS.some((path) =>
      bare.endsWith(path) || (path.endsWith("?") && url.includes(path))
    );
  });
}
