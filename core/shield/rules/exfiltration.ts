import { hasFlag, operands, optionValues, wordsOf } from "../arguments.ts";
import { isAccounts, isWholeFolder } from "../bulk.ts";
import type { SimpleCommand } from "../command.ts";
import { isEveryday, isSecret } from "../secrets.ts";
import type { Rule } from "../rule.ts";
import { findScope } from "../unwrap_items.ts";
import { defineRule } from "./define.ts";
import { SENDERS } from "./network.ts";
import { uploads } from "./sending.ts";

/** `host:path`, `remote:bucket`, `s3://bucket`. */
function isRemote(word: string): boolean {
  return word.indexOf(":") > 1;
}

/** Copies a whole folder of the system or of people to another machine. */
function copiesOut(command: SimpleCommand): boolean {
  switch (command.name) {
    case "scp":
    case "rsync":
    case "rclone":
    case "aws":
    case "gsutil":
    case "gcloud":
    case "azcopy":
    case "s3cmd": {
      const words = operands(command, COPY_VALUED);
      const target = words.at(-1) ?? "";
      return isRemote(target) &&
        words.slice(0, -1).some((path) =>
          (path.startsWith("/") || path.startsWith("~")) && isWholeFolder(command, path)
        );
    }
    default:
      return uploads(command).some((value) => isAccounts(value.slice(value.lastIndexOf("@") + 1)));
  }
}

const COPY_VALUED = new Set(["-e", "--rsh", "-i", "-P", "-o", "-F", "--profile", "--region"]);

const SEARCHERS = ["grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "gfind", "fd", "locate"];
const KEY_WORDS = /private key|begin rsa|begin openssh|aws_secret|secret_access_key/;

/** Looks through a whole machine or home for keys. */
function hunts(command: SimpleCommand): boolean {
  if (command.name === "find" || command.name === "gfind") {
    return optionValues(command, "-name", "-iname", "-path").some(namesKey) &&
      findScope(command).starts.some((start) => isWholeFolder(command, start));
  }
  return command.args.some((arg) => KEY_WORDS.test(arg.toLowerCase())) &&
    operands(command).some((path) => isWholeFolder(command, path));
}

/** This is asked of every command there is. */
function minesCoins({ args }: SimpleCommand): boolean {
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg.charCodeAt(0) === LETTER_S && arg.startsWith("stratum+")) return true;
  }
  return false;
}

const LETTER_S = 0x73;

function namesKey(pattern: string): boolean {
  const name = pattern.replaceAll("*", "");
  return name.endsWith(".pem") || name.endsWith(".key") || name.endsWith(".p12") ||
    name.startsWith("id_rsa") || (isSecret(name) && !isEveryday(name));
}

/** Arguments that make a program a server of files. */
const isServing = (arg: string): boolean =>
  arg === "http.server" || arg === "SimpleHTTPServer" || arg === "-S" || arg === "httpd" ||
  arg === "-run";

/** Data that leaves as a whole, keys that are looked for, doors that are opened from inside. */
export const EXFILTRATION_RULES: readonly Rule[] = [
  defineRule(
    "network",
    "data_leaves",
    SENDERS,
    (command) =>
      Boolean(command.stdin?.bulk) || Boolean(command.inputs?.bulk) || copiesOut(command),
    [3, 4],
    "data_exfiltration",
    "It sends a database, or a whole folder of the system or of people, to another machine.",
    "Send the named files that are needed, to a place that your administrators know.",
  ),
  defineRule(
    "network",
    "serves_folder",
    ["python", "python3", "php", "ruby", "busybox", "http-server", "serve", "smbserver.py"],
    (command) => {
      const serves = command.args.some(isServing) ||
        command.name.endsWith("serve") || command.name.endsWith("-server") ||
        command.name === "smbserver.py";
      if (!serves) return false;
      const folders = [
        ...optionValues(command, "-d", "--directory", "-t", "-h"),
        ...["/", "~"].filter((path) => command.args.includes(path)),
        command.cwd,
      ];
      return folders.some((path) =>
        path !== "." && (isWholeFolder(command, path) || isSecret(path))
      ) || wordsOf(command).some(isSecret);
    },
    [4, 3],
    "exposure",
    "It offers a whole folder of the system or of people to whoever can connect.",
    "Serve the one folder that is needed, on the loopback address.",
  ),
  defineRule(
    "network",
    "reverse_tunnel",
    ["ssh", "autossh", "plink"],
    (command) => hasFlag(command, "Rw") && optionValues(command, "-R", "-w").length > 0,
    [3, 3],
    "remote_access",
    "It lets the other end of the connection reach into this machine or its network.",
    "Connect from outside through the way that your administrators have opened.",
  ),
  defineRule(
    "network",
    "attack_tools",
    [
      "masscan",
      "zmap",
      "nikto",
      "sqlmap",
      "msfconsole",
      "msfvenom",
      "ettercap",
      "bettercap",
      "arpspoof",
      "dsniff",
      "responder",
      "crackmapexec",
      "evil-winrm",
      "bloodhound-python",
      "mitmproxy",
      "mitmdump",
      "gobuster",
      "aircrack-ng",
      "chisel",
      "ligolo-ng",
    ],
    (command) => command.args.length > 0,
    [3, 3],
    "attack_tool",
    "It is a tool for attacking networks and machines.",
    null,
  ),
  defineRule(
    "network",
    "zsh_socket",
    ["zmodload", "ztcp", "zsocket"],
    (command) => command.name !== "zmodload" || command.args.some((arg) => arg.includes("net/")),
    [4, 4],
    "remote_access",
    "It talks to the network through the shell itself, which few tools and no logs see.",
    "Use curl, whose traffic can be seen.",
  ),
  defineRule(
    "credentials",
    "hunt",
    SEARCHERS,
    hunts,
    [3, 3],
    "credential_access",
    "It looks for keys and passwords all over the machine.",
    "Ask for the one credential that is needed.",
  ),
  defineRule(
    "credentials",
    "copy_secret",
    ["docker", "podman", "kubectl", "oc", "lxc"],
    (command) =>
      (command.args.includes("cp") || command.args.includes("pull")) &&
      operands(command).some((path) => {
        const inner = path.slice(path.indexOf(":") + 1);
        return isSecret(inner) && !isEveryday(inner);
      }),
    [4, 3],
    "credential_access",
    "It copies keys, tokens or password hashes out of a container.",
    "Ask for the one value through your secret store.",
  ),
  defineRule(
    "credentials",
    "print",
    ["kubectl", "aws", "gcloud", "az", "vault", "bao", "op", "doppler", "heroku", "bw", "lpass"],
    (command, words) => {
      const said = words.join(" ");
      return PRINTERS.test(said) ||
        (said.startsWith("config view") && command.args.includes("--raw"));
    },
    [2, 3],
    "credential_access",
    "It prints a credential.",
    "Let the program that needs it fetch it itself.",
  ),
  defineRule(
    "persistence",
    "authorize_key",
    ["ssh-copy-id"],
    (command, words) => words.length > 0 && !command.args.includes("-n"),
    [3, 3],
    "persistence",
    "It lets the holder of a key log in to another machine from now on.",
    "Put the key into configuration that is reviewed.",
  ),
  defineRule(
    "persistence",
    "mining_pool",
    null,
    minesCoins,
    [3, 3],
    "resource_abuse",
    "It mines coins on this machine.",
    null,
  ),
  defineRule(
    "code",
    "function_in_variable",
    null,
    (command) => {
      for (const value of command.assignments.values()) if (value.startsWith("() {")) return true;
      return false;
    },
    [4, 5],
    "obfuscation",
    "It hides a function in a variable, which old shells run when they start.",
    null,
    ["assigned"],
  ),
];

/** Subcommands that print a secret, as they stand among the words. */
const PRINTERS = new RegExp([
  "secretsmanager get-secret-value",
  "configure export-credentials",
  "print-access-token",
  "print-identity-token",
  "account get-access-token",
  "secrets versions access",
  "keyvault secret show",
  "kv get",
  "create token",
  "item get",
  "get password",
  "config:get",
  "ec2 get-password-data",
  "read op:",
  "storage account keys list",
].join("|"));
