import { hasFlag, hasOption, isRehearsal, operands } from "../arguments.ts";
import type { SimpleCommand } from "../command.ts";
import { classifyPath, locate } from "../paths.ts";
import { isEveryday, isSecret } from "../secrets.ts";
import { READERS, readsSecret } from "../output.ts";
import type { Condition, Rule } from "../rule.ts";

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
    id: "credentials.overwrite_secret",
    pack: "credentials",
    commands: ["aws"],
    match: (command) => {
      const [service, verb = ""] = operands(command);
      if (isRehearsal(command)) return false;
      return (service === "secretsmanager" &&
        [
          "update-secret",
          "put-secret-value",
          "rotate-secret",
          "restore-secret",
          "update-secret-version-stage",
        ].includes(verb)) ||
        (service === "kms" &&
          ["disable-key", "schedule-key-deletion", "put-key-policy"].includes(verb)) ||
        (service === "ssm" && verb === "put-parameter" && hasOption(command, "--overwrite"));
    },
    blast: 3,
    irreversibility: 4,
    threat: "credential_change",
    explanation: "It replaces a secret that running programs use.",
    safer_alternative: "Add a new version beside the old one, then move the stage.",
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
];
