import { hasFlag, hasOption, operands, optionValues } from "../programs/arguments.ts";
import { findScope } from "../programs/families/find.ts";
import { isWholeFolder } from "../programs/bulk.ts";
import { isEveryday, isSecret } from "../programs/secrets.ts";
import { locate, normalizePath } from "../programs/paths.ts";
import { type Rule, rule, type SimpleCommand } from "./rule.ts";

/** Whether what is watched may hold passwords: the data of a process, or of a connection in the clear. */
function listensIn(command: SimpleCommand): boolean {
  const { name, args } = command;
  const attaches = optionValues(command, "-p", "--attach", "--pid").length > 0;
  switch (name) {
    case "tcpdump":
      return hasFlag(command, "AX") && !hasFlag(command, "r");
    case "tshark":
    case "dumpcap":
      return !hasFlag(command, "r") && args.some((arg) => CREDENTIAL.test(arg));
    case "ngrep":
      return !hasFlag(command, "I") && args.length > 0;
    case "strace":
      return attaches && !hasFlag(command, "c") &&
        optionValues(command, "-e", "--trace").some((what) =>
          /\b(?:read|write|network)\b/.test(what)
        );
    case "ltrace":
      return attaches && args.some((arg) => arg.includes("crypt") || CREDENTIAL.test(arg));
    default:
      return args.some((arg) => /readline|ssl_(?:read|write)|pam_|getpass/i.test(arg));
  }
}

const CREDENTIAL = /auth|passw|credential|cookie|token/i;

/** Folders of the machine, and of all that runs on it. */
const WIDE = /^(?:~|\/(?:|etc|home|opt|srv|var|usr|root|mnt|data)(?:\/\*)?)$/;
const WORDS = /passw|secret|api[-_]?key|credential/i;

/** Whether a search over the whole machine asks for words that stand beside passwords. */
const huntsWords = (command: SimpleCommand, words: readonly string[]): boolean =>
  [words[0] ?? "", ...optionValues(command, "-e", "--regexp")].some((text) => WORDS.test(text)) &&
  words.slice(1).some((path) =>
    WIDE.test(normalizePath(locate(command.cwd, path))) && isWholeFolder(command, path)
  );

/** Options that make a tool show what it hides otherwise. */
const SHOWN = ["--show-secrets", "--showsecret", "--show-passwords", "--show-secret"];

const DECRYPTERS = ["gpg", "gpg2", "age", "rage"];
/** Names of encrypted files that hold credentials. */
const KEPT =
  /(?:secret|credential|passw|token|api[-_]?key|private|vault|authinfo|netrc|\.env|\.password-store\/)[^/]*(?:\/.*)?\.(?:gpg|asc|age|pgp)$/i;

const CLIENTS = ["psql", "mysql", "mariadb", "mongosh", "mongo", "sqlcmd"];
/** Tables and columns in which databases keep the hashes of passwords. */
const HASHES =
  /\bpg_(?:authid|shadow)\b|\brolpassword\b|\bauthentication_string\b|\bsystem\.users\.find|\bsql_logins\b/i;

/** `find /etc -exec grep -i passw {} +`. */
const findsWords = (command: SimpleCommand): boolean =>
  command.args.some((arg) => arg.endsWith("grep") || arg === "rg") &&
  command.args.some((arg) => WORDS.test(arg)) &&
  findScope(command).starts.some((path) => WIDE.test(normalizePath(locate(command.cwd, path))));

/** Whether an answer on its input lets a new key take an old one's place, or a key loses its passphrase. */
function losesKey(command: SimpleCommand): boolean {
  const files = optionValues(command, "-f");
  const isTemporary = files.length > 0 && files.every((path) => path.startsWith("/tmp/"));
  if (isTemporary || hasFlag(command, "lyBFHRrLQDeic")) return false;
  return hasFlag(command, "p")
    ? command.args.some((arg, at) => arg === "" && command.args[at - 1] === "-N")
    : command.stdin !== null;
}

const DATA =
  /^\/var\/lib\/(?:mysql|postgresql|pgsql|mongodb?|etcd|redis|vault|kubelet|docker\/volumes)(?:\/|$)/;

/** Credentials that are read out of their stores, of processes and of connections. */
export const SECRET_RULES: readonly Rule[] = [
  rule({
    id: "credentials.read_stored",
    title: "Read a credential out of its store",
    phrases: [
      "aws ssm get-parameter|get-parameters --with-decryption",
      "aws configure export-credentials",
      "aws ec2 get-password-data",
      "gcloud secrets versions access",
      "az keyvault secret show|download",
      "az storage account keys list",
      "kubectl|oc config view --raw",
      "bw|lpass get password",
      "pass|gopass show",
      "ansible-vault view|decrypt",
      "firebase functions:secrets:access|login:ci",
      "podman|docker secret inspect --showsecret",
      "rails|bin/rails credentials:show|encrypted:show",
      "bundle exec rails credentials:show",
      "vercel|vc env pull",
      "crane|gcrane auth token",
      "terraform|tofu output …password…|…secret…|…token…|…private_key…",
      "chamber|aws-vault read|export",
      "sops -d|--decrypt|decrypt",
    ],
    commands: ["pulumi", "podman", "svn", "docker", ...DECRYPTERS, ...CLIENTS],
    match: (command) =>
      CLIENTS.includes(command.name)
        ? command.args.some((arg) => HASHES.test(arg))
        : DECRYPTERS.includes(command.name)
        ? hasFlag(command, "d", "decrypt") && operands(command).some((path) => KEPT.test(path))
        : hasOption(command, ...SHOWN),
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It shows a credential that its store keeps hidden.",
    safer: "Let the program that needs it fetch it itself.",
    hits: [
      "aws configure export-credentials --profile prod --format env",
      "kubectl config view --raw --minify",
      "pulumi config --show-secrets --stack prod",
      "ansible-vault decrypt group_vars/prod/vault.yml",
      "psql -Atc 'select rolname, rolpassword from pg_authid'",
      "age -d -i key.txt secrets.age",
      "gpg --decrypt prod-credentials.json.gpg",
    ],
    misses: [
      "gpg -d backup.tar.gpg",
      "gpg --verify secrets.tar.asc",
      "vault kv list secret/",
      "kubectl config view",
      "pulumi config --stack dev",
      "ansible-vault view --help",
    ],
  }),
  rule({
    id: "credentials.copy_data",
    title: "Copy the data of a service",
    commands: ["tar", "gtar", "bsdtar", "zip", "7z", "cp", "rsync", "scp"],
    match: (command) =>
      command.name === "rsync" &&
        operands(command).slice(0, -1).some((path) => isSecret(path) && !isEveryday(path)) ||
      [...operands(command).slice(0, -1), ...optionValues(command, "-C", "--directory")]
          .some((path) => DATA.test(normalizePath(locate(command.cwd, path)))) &&
        !hasFlag(command, "", "extract", "list") && !/^-?[a-z]*[xt]/.test(command.args[0] ?? ""),
    weight: [4, 2],
    threat: "data_exfiltration",
    explanation: "It copies the files of a service, with all its data.",
    safer: "Make a dump with the service's own tool, and encrypt it.",
    hits: [
      "sudo tar -C /var/lib/postgresql -cf /tmp/pg.tar .",
      "cp -r /var/lib/mysql /tmp/m",
      "rsync -a /var/lib/etcd/ backup/",
      "sudo rsync /etc/shadow /tmp/s",
    ],
    misses: ["tar -tf /var/lib/mysql.tar", "cp -r src backup", "ls /var/lib/mysql"],
  }),
  rule({
    id: "credentials.listen",
    title: "Listen for passwords",
    commands: ["tcpdump", "tshark", "dumpcap", "ngrep", "strace", "ltrace", "bpftrace"],
    match: listensIn,
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It records what a process or a connection carries, passwords included.",
    safer: "Record headers and counts only: tcpdump without -A, strace -c.",
    hits: [
      "tcpdump -i any -A -s0 'tcp port 80'",
      "strace -f -e trace=read,write -s 4096 -p 914",
      "ngrep -q -W byline password tcp port 8080",
    ],
    misses: ["tcpdump -i eth0 -nn port 443 -c 20", "strace -c -p 1234", "tcpdump -A -r x.pcap"],
  }),
  rule({
    id: "credentials.into_repository",
    title: "Put a key or password into a repository",
    commands: ["git"],
    subcommands: ["add"],
    match: (command) => hasFlag(command, "f", "force") && operands(command).some(isSecret),
    weight: [3, 3],
    threat: "credential_exposure",
    explanation: "It puts a file that the repository ignores, and that holds credentials, into it.",
    safer: "Keep the value in a secret store, and put an example file into the repository.",
    hits: [
      "git add -f .env",
      "git add --force config/master.key",
      "git add -f .env && git commit -m env && git push",
    ],
    misses: ["git add -f dist/app.js", "git add .env.example", "git add -A"],
  }),
  rule({
    id: "credentials.key_protection",
    title: "Overwrite a key, or take its passphrase away",
    commands: ["ssh-keygen"],
    match: losesKey,
    weight: [3, 3],
    threat: "credential_loss",
    explanation: "It writes over a key that may exist only there, or takes its passphrase away.",
    safer: "Make the new key under another name, and keep the old one until nobody needs it.",
    hits: [
      "ssh-keygen -f ~/.ssh/id_rsa -N '' -q <<< y",
      "yes | ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519 -N ''",
      "ssh-keygen -p -f ~/.ssh/id_ed25519 -N ''",
    ],
    misses: [
      "ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519 -N ''",
      "ssh-keygen -t rsa -f /tmp/key -N '' -q <<< y",
      "ssh-keygen -lf ~/.ssh/id_ed25519.pub",
      "ssh-keygen -p -f ~/.ssh/id_ed25519",
    ],
  }),
  rule({
    id: "credentials.hunt_words",
    title: "Search the machine for passwords in files",
    commands: ["grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "find"],
    match: (command, words) =>
      command.name === "find" ? findsWords(command) : huntsWords(command, words),
    weight: [4, 2],
    threat: "credential_access",
    explanation: "It looks through the files of the whole machine for passwords.",
    safer: "Ask for the one credential that is needed.",
    hits: [
      "grep -ri password /etc",
      "rg -i 'api_key|secret' /home",
      "grep -rn passwd= / 2>/dev/null",
    ],
    misses: ["grep -rn password src/", "grep password docs/setup.md", "grep -r listen /etc"],
  }),
];
