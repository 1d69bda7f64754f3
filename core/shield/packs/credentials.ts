import { type Condition, type Rule, rule, type SimpleCommand } from "./rule.ts";
import { attachesToAgent, printsEnvironment, touchesAgentState } from "../programs/agent_state.ts";
import { hasFlag, hasOption, operands, optionValues } from "../programs/arguments.ts";
import { isWholeFolder } from "../programs/bulk.ts";
import { wordsSaid } from "./phrases.ts";
import { classifyPath, locate } from "../programs/paths.ts";
import { isEveryday, isSecret } from "../programs/secrets.ts";
import { READERS, readsSecret } from "../programs/output.ts";
import { findScope } from "../programs/families/find.ts";

/** A project's `.env` is read every day; a private key is not. */
function readsKey(command: SimpleCommand): boolean {
  return command.args.some((arg) => isKey(arg.startsWith("if=") ? arg.slice(3) : arg)) ||
    command.redirections.some((one) => isKey(one.target));
}

const READS: Condition = {
  ask: (command) => readsSecret(command) ? "secret" : "",
  answers: ["secret"],
};

const isKey = (path: string): boolean => isSecret(path) && !isEveryday(path);

/** Loops, groups and `$(< file)` have no name. */
const TAKE_INPUT = new Set(["", "exec", "mapfile", "read", "readarray", "pbcopy", "clip"]);

const SEARCHERS = [
  "grep",
  "egrep",
  "fgrep",
  "rg",
  "ag",
  "ack",
  "find",
  "gfind",
  "fd",
  "locate",
  "plocate",
];

/** Keys, tokens and passwords. */
export const CREDENTIAL_RULES: readonly Rule[] = [
  rule({
    id: "credentials.read_key",
    title: "Read keys or password hashes",
    commands: READERS,
    when: READS,
    match: readsKey,
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_access",
    explanation: "It reads keys, tokens or password hashes.",
    safer: "Ask for the one value through your secret store.",
    hits: ["cat /etc/shadow", "cat ~/.ssh/id_rsa"],
    misses: ["getent passwd deploy", "cat ~/.ssh/id_rsa.pub"],
  }),
  rule({
    id: "credentials.read_settings",
    title: "Read a file that often holds credentials",
    commands: READERS,
    when: READS,
    match: (command) => !readsKey(command),
    evenRehearsed: true,
    weight: [2, 3],
    threat: "credential_access",
    explanation: "It reads a file that often holds credentials.",
    safer: "Read the one value that you need.",
    hits: ["vim .env", "cat .env"],
    misses: ["cat .env.example", "less README.md"],
  }),
  rule({
    id: "credentials.read_key_in",
    title: "Read keys through the shell itself",
    commands: null,
    also: ["redirected"],
    match: ({ name, redirections }) =>
      TAKE_INPUT.has(name) &&
      redirections.some(({ operator, target }) => operator === "<" && isKey(target)),
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_access",
    explanation: "The shell itself reads keys, tokens or password hashes.",
    safer: "Give the file to the one program that needs it.",
    hits: ["read x < /etc/shadow; echo $x", "{ cat; } < /etc/shadow"],
    misses: ["read x < version.txt; echo $x", "mapfile lines < notes.txt"],
  }),
  rule({
    id: "credentials.agent_state",
    title: "Read or change the agent's credential",
    commands: null,
    match: touchesAgentState,
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_access",
    explanation:
      "It reads or changes the agent's own credential and keys, or the environment or memory of a process.",
    safer: "Pair the machine again if its credential may have leaked.",
    hits: ["cat /proc/1/environ", "cat ~/.local/state/relay-agent/credential.json"],
    misses: ["cat /proc/cpuinfo", "ls ~/.local/share"],
  }),
  rule({
    id: "credentials.print_environment",
    title: "Print the environment of processes",
    commands: ["ps"],
    match: printsEnvironment,
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_access",
    explanation: "It prints the environment of processes, which often holds credentials.",
    safer: "Leave the environment out: ps -ef.",
    hits: ["ps eww", "ps auxe"],
    misses: ["ps aux | grep java", "ps -eo pid,etime,args"],
  }),
  rule({
    id: "credentials.attach_agent",
    title: "Attach to the agent's process",
    commands: ["gdb", "lldb", "strace", "ltrace", "gcore", "perf", "py-spy", "reptyr"],
    match: attachesToAgent,
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_access",
    explanation: "It looks into the memory of the agent's own process.",
    safer: "Give the number of the one process to inspect.",
    hits: ["gdb -p $PPID", "strace -p $PPID"],
    misses: ["strace -c -p 1234", "gdb -p 1234 -batch -ex 'info threads'"],
  }),
  rule({
    id: "credentials.remove_key",
    title: "Delete a key",
    commands: ["rm", "unlink", "shred", "srm", "grm"],
    match: (command) =>
      operands(command).some((path) => {
        if (!isKey(path)) return false;
        const kind = classifyPath(locate(command.cwd, path));
        return kind === "home_part" || kind === "system_part";
      }),
    weight: [3, 5],
    threat: "credential_loss",
    explanation: "It deletes a key or a password that may exist only there.",
    safer: "Move it aside until its successor is known to work.",
    hits: ["rm ~/.ssh/id_ed25519", "shred -u ~/.ssh/id_rsa"],
    misses: ["rm ~/notes.txt", "ssh-keygen -R host"],
  }),
  rule({
    id: "credentials.dump",
    title: "Dump passwords from memory or password files",
    commands: [
      "mimikatz",
      "mimipenguin",
      "secretsdump.py",
      "lazagne",
      "gcore",
      "procdump",
      "unshadow",
      "hashdump",
      "pypykatz",
      "linpeas",
      "linpeas.sh",
      "hydra",
      "john",
      "hashcat",
    ],
    match: () => true,
    weight: [4, 4],
    threat: "credential_access",
    explanation: "It takes passwords or keys out of memory or password files.",
    safer: null,
    hits: ["mimipenguin", "john hashes.txt"],
    misses: ["john --help", "pgrep -fa node"],
  }),
  rule({
    id: "credentials.export_private_key",
    title: "Take a private key out of its store",
    commands: ["gpg", "gpg2", "security", "keytool", "secret-tool", "pass"],
    match: (command) =>
      command.args.some((arg) =>
        arg.startsWith("--export-secret") || arg.startsWith("--delete-secret") ||
        arg === "dump-keychain" || arg === "export"
      ) ||
      (command.name === "security" &&
        command.args.some((arg) =>
          arg.startsWith("find-") && hasFlag(command, "wg") || arg.startsWith("delete-")
        )) ||
      (command.name === "pass" && command.args[0] === "rm"),
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_access",
    explanation: "It takes a private key or password out of its store.",
    safer: "Leave the key where it is and sign or decrypt there.",
    hits: ["gpg --export-secret-keys -a", "security find-generic-password -wa wifi"],
    misses: ["gpg --verify x.sig x", "security find-identity -v -p codesigning"],
  }),
  rule({
    id: "credentials.change_password",
    title: "Change an account's password",
    commands: ["passwd", "chpasswd", "usermod", "chage", "dscl", "net", "net.exe"],
    match: (command) =>
      command.name === "chpasswd" ||
      (command.name === "passwd" &&
        (hasFlag(command, "dlue", "delete", "lock", "unlock", "expire", "stdin") ||
          operands(command).length > 0) &&
        !hasFlag(command, "S")) ||
      (command.name === "usermod" && hasFlag(command, "pLU", "password", "lock", "unlock")) ||
      (command.name === "dscl" && command.args.includes("-passwd")) ||
      (command.name.startsWith("net") && command.args[0]?.toLowerCase() === "user" &&
        command.args.length > 2),
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_change",
    explanation: "It changes or removes an account's password.",
    safer: "Let the account's owner change it.",
    hits: ["passwd -d root", "net user evil P@ss /add"],
    misses: ["passwd -S anna", "usermod -c 'Bob' bob"],
  }),
  rule({
    id: "credentials.hunt",
    title: "Search the machine for keys and passwords",
    commands: SEARCHERS,
    match: hunts,
    weight: [3, 3],
    threat: "credential_access",
    explanation: "It looks for keys and passwords all over the machine.",
    safer: "Ask for the one credential that is needed.",
    hits: ["grep -r 'BEGIN RSA PRIVATE KEY' /", "grep -r svc_device_ ~", "locate id_rsa"],
    misses: ["grep -rn 'rm -rf' docs/", "find . -name '*.ts'"],
  }),
  rule({
    id: "credentials.copy_secret",
    title: "Copy keys out of a container",
    commands: ["docker", "podman", "kubectl", "oc", "lxc"],
    match: (command) =>
      (command.args.includes("cp") || command.args.includes("pull")) &&
      operands(command).some((path) => {
        const inner = path.slice(path.indexOf(":") + 1);
        return isSecret(inner) && !isEveryday(inner) ||
          path.includes(":") && /\.(?:db|sqlite3?|sql|dump|rdb)$/.test(inner);
      }),
    weight: [4, 3],
    threat: "credential_access",
    explanation: "It copies keys, tokens or password hashes out of a container.",
    safer: "Ask for the one value through your secret store.",
    hits: ["docker cp web:/etc/shadow .", "kubectl cp prod/web:/root/.ssh/id_rsa ./id_rsa"],
    misses: ["docker cp web:/app/report.csv .", "kubectl cp web:/tmp/profile.out ."],
  }),
  rule({
    id: "credentials.print",
    title: "Print a credential",
    phrases: [
      "gcloud auth print-access-token|print-identity-token",
      "az account get-access-token",
      "kubectl create token",
      "heroku config:get",
      "aws secretsmanager get-secret-value",
      "vault|bao kv get",
      "op item get",
      "op read op:…",
    ],
    weight: [2, 3],
    threat: "credential_access",
    explanation: "It prints a credential.",
    safer: "Let the program that needs it fetch it itself.",
    hits: [
      "vault kv get -field=password secret/app/db",
      "gcloud auth print-access-token",
    ],
    misses: ["vault kv list secret/", "aws s3 cp s3://b/x ."],
  }),
  rule({
    id: "credentials.copy_store",
    title: "Copy the store of a cluster or a domain",
    phrases: [
      "etcdctl snapshot save",
      "etcdctl get /|/registry|/registry/secrets… --prefix",
      "etcdctl get --prefix /|/registry|/registry/secrets…",
      "etcdctl get /registry/secrets…",
      "vssadmin create shadow",
      "wmic shadowcopy call create",
      "diskshadow /s|-s",
      "ntdsutil …ifm…",
      "copy|xcopy|robocopy|esentutl …ntds.dit…|…ntds\\ntds…",
      "copy|xcopy|robocopy|esentutl …\\config\\sam…|…\\config\\system…|…\\config\\security…",
    ],
    words: (command) => hasOption(command, "--keys-only", "--count-only") ? [] : wordsSaid(command),
    evenRehearsed: true,
    weight: [4, 3],
    threat: "credential_access",
    explanation: "It copies the store of a cluster or a domain, with every credential in it.",
    safer: "Let the backup that your administrators have set up do it.",
    hits: [
      "ETCDCTL_API=3 etcdctl snapshot save /tmp/etcd.db",
      "vssadmin create shadow /for=C:",
      "copy 'C:\\Windows\\NTDS\\ntds.dit' 'C:\\temp'",
    ],
    misses: ["etcdctl endpoint health", "etcdctl snapshot status x.db", "vssadmin list shadows"],
  }),
  rule({
    id: "credentials.print_all",
    title: "Print every credential of a store",
    phrases: [
      "aws ssm get-parameters-by-path --with-decryption",
      "aws secretsmanager batch-get-secret-value",
      "bw export",
      "bw list items",
      "lpass|chamber|infisical|enpass-cli export",
      "doppler secrets download",
      "keepassxc-cli|kpcli export",
    ],
    weight: [3, 3],
    threat: "credential_access",
    explanation: "It prints all credentials of a store.",
    safer: "Ask for the one value that is needed.",
    hits: ['bw list items --session "$S"', "doppler secrets download --no-file --format json"],
    misses: ["doppler secrets list", "aws configure list"],
  }),
];

const KEY_WORDS =
  /svc_(?:device|live)_|private key|begin rsa|begin openssh|aws_secret|secret_access_key/;

/** Whether a command searches a whole machine or home for keys. */
function hunts(command: SimpleCommand): boolean {
  if (command.name === "find" || command.name === "gfind") {
    return optionValues(command, "-name", "-iname", "-path").some(namesKey) &&
      findScope(command).starts.some((start) => isWholeFolder(command, start));
  }
  if (command.name.endsWith("locate")) return operands(command).some(namesKey);
  return command.args.some((arg) => KEY_WORDS.test(arg.toLowerCase())) &&
    operands(command).some((path) => isWholeFolder(command, path));
}

const KEY_ENDINGS = [".pem", ".key", ".p12", ".pfx", ".jks", ".ppk", ".kdb", ".kdbx", ".keystore"];

function namesKey(pattern: string): boolean {
  const name = pattern.replaceAll("*", "");
  return KEY_ENDINGS.some((ending) => name.endsWith(ending)) ||
    name.startsWith("id_rsa") || (isSecret(name) && !isEveryday(name));
}
