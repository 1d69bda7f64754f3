import { hasFlag, operands, optionValues, wordsOf } from "../programs/arguments.ts";
import { isAccounts, isWholeFolder } from "../programs/bulk.ts";
import type { Rule, SimpleCommand } from "../model.ts";
import { isSecret } from "../programs/secrets.ts";
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

/** Arguments that make a program a server of files. */
const isServing = (arg: string): boolean =>
  arg === "http.server" || arg === "SimpleHTTPServer" || arg === "-S" || arg === "httpd" ||
  arg === "-run";

/** Data that leaves as a whole, and doors that are opened from inside. */
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
];
