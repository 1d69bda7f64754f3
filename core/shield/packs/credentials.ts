import { attachesToAgent, printsEnvironment, touchesAgentState } from "../programs/agent_state.ts";
import { hasFlag, isRehearsal, operands, optionValues } from "../programs/arguments.ts";
import { isWholeFolder } from "../programs/bulk.ts";
import type { Condition, Rule, SimpleCommand } from "../model.ts";
import { classifyPath, locate } from "../programs/paths.ts";
import { isEveryday, isSecret } from "../programs/secrets.ts";
import { READERS, readsSecret } from "../programs/output.ts";
import { readPhrases } from "./phrases.ts";
import { findScope } from "../programs/unwrap_items.ts";
import { defineRule, phraseRule } from "./define.ts";

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
const TAKE_INPUT = new Set(["", "exec", "mapfile", "read", "readarray"]);

const SEARCHERS = ["grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "gfind", "fd", "locate"];

/** Stores and clouds that are asked for one credential. */
const SECRET_PRINTERS = readPhrases([
  "aws secretsmanager get-secret-value",
  "aws configure export-credentials",
  "aws ec2 get-password-data",
  "gcloud auth print-access-token|print-identity-token",
  "gcloud secrets versions access",
  "az account get-access-token",
  "az keyvault secret show",
  "az storage account keys list",
  "kubectl create token",
  "kubectl config view --raw",
  "vault|bao kv get",
  "op item get",
  "op read op:…",
  "bw|lpass get password",
  "heroku config:get",
  "pass|gopass show",
]);

/** Keys, tokens and passwords. */
export const CREDENTIAL_RULES: readonly Rule[] = [
  {
    id: "credentials.read_key",
    pack: "credentials",
    commands: READERS,
    when: READS,
    match: readsKey,
    blast: 4,
    irreversibility: 3,
    threat: "credential_access",
    explanation: "It reads keys, tokens or password hashes.",
    safer_alternative: "Ask for the one value through your secret store.",
  },
  {
    id: "credentials.read_settings",
    pack: "credentials",
    commands: READERS,
    when: READS,
    match: (command) => !readsKey(command),
    blast: 2,
    irreversibility: 3,
    threat: "credential_access",
    explanation: "It reads a file that often holds credentials.",
    safer_alternative: "Read the one value that you need.",
  },
  {
    id: "credentials.read_key_in",
    pack: "credentials",
    commands: null,
    also: ["redirected"],
    match: ({ name, redirections }) =>
      TAKE_INPUT.has(name) &&
      redirections.some(({ operator, target }) => operator === "<" && isKey(target)),
    blast: 4,
    irreversibility: 3,
    threat: "credential_access",
    explanation: "The shell itself reads keys, tokens or password hashes.",
    safer_alternative: "Give the file to the one program that needs it.",
  },
  {
    id: "credentials.agent_state",
    pack: "credentials",
    commands: null,
    match: touchesAgentState,
    blast: 4,
    irreversibility: 3,
    threat: "credential_access",
    explanation:
      "It reads or changes the agent's own credential and keys, or the environment or memory of a process.",
    safer_alternative: "Pair the machine again where its credential is in doubt.",
  },
  {
    id: "credentials.print_environment",
    pack: "credentials",
    commands: ["ps"],
    match: printsEnvironment,
    blast: 4,
    irreversibility: 3,
    threat: "credential_access",
    explanation: "It prints the environment of processes, which often holds credentials.",
    safer_alternative: "Leave the environment out: ps -ef.",
  },
  {
    id: "credentials.attach_agent",
    pack: "credentials",
    commands: ["gdb", "lldb", "strace", "ltrace", "gcore", "perf", "py-spy", "reptyr"],
    match: attachesToAgent,
    blast: 4,
    irreversibility: 3,
    threat: "credential_access",
    explanation: "It looks into the memory of the agent's own process.",
    safer_alternative: "Name the one process that is looked into by its number.",
  },
  {
    id: "credentials.remove_key",
    pack: "credentials",
    commands: ["rm", "unlink", "shred", "srm", "grm"],
    match: (command) =>
      operands(command).some((path) => {
        if (!isKey(path)) return false;
        const kind = classifyPath(locate(command.cwd, path));
        return kind === "home_part" || kind === "system_part";
      }) && !isRehearsal(command),
    blast: 3,
    irreversibility: 5,
    threat: "credential_loss",
    explanation: "It deletes a key or a password that may exist only there.",
    safer_alternative: "Move it aside until its successor is known to work.",
  },
  {
    id: "credentials.dump",
    pack: "credentials",
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
    match: (command) => !isRehearsal(command),
    blast: 4,
    irreversibility: 4,
    threat: "credential_access",
    explanation: "It takes passwords or keys out of memory or password files.",
    safer_alternative: null,
  },
  {
    id: "credentials.export_private_key",
    pack: "credentials",
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
    blast: 4,
    irreversibility: 3,
    threat: "credential_access",
    explanation: "It takes a private key or password out of its store.",
    safer_alternative: "Leave the key where it is and sign or decrypt there.",
  },
  {
    id: "credentials.change_password",
    pack: "credentials",
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
    blast: 4,
    irreversibility: 3,
    threat: "credential_change",
    explanation: "It changes or removes an account's password.",
    safer_alternative: "Let the account's owner change it.",
  },
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
    SECRET_PRINTERS.names,
    (command) => SECRET_PRINTERS.matches(command),
    [2, 3],
    "credential_access",
    "It prints a credential.",
    "Let the program that needs it fetch it itself.",
  ),
  phraseRule(
    "credentials",
    "print_all",
    [
      "aws ssm get-parameters-by-path --with-decryption",
      "aws secretsmanager batch-get-secret-value",
      "bw export",
      "bw list items",
      "lpass|chamber|infisical|enpass-cli export",
      "doppler secrets download",
      "keepassxc-cli|kpcli export",
    ],
    [3, 3],
    "credential_access",
    "It prints all credentials of a store.",
    "Ask for the one value that is needed.",
  ),
];

const KEY_WORDS =
  /svc_(?:device|live)_|private key|begin rsa|begin openssh|aws_secret|secret_access_key/;

/** Looks through a whole machine or home for keys. */
function hunts(command: SimpleCommand): boolean {
  if (command.name === "find" || command.name === "gfind") {
    return optionValues(command, "-name", "-iname", "-path").some(namesKey) &&
      findScope(command).starts.some((start) => isWholeFolder(command, start));
  }
  return command.args.some((arg) => KEY_WORDS.test(arg.toLowerCase())) &&
    operands(command).some((path) => isWholeFolder(command, path));
}

function namesKey(pattern: string): boolean {
  const name = pattern.replaceAll("*", "");
  return name.endsWith(".pem") || name.endsWith(".key") || name.endsWith(".p12") ||
    name.startsWith("id_rsa") || (isSecret(name) && !isEveryday(name));
}
