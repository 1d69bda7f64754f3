import { hasFlag, hasOption, isRehearsal, operands, subcommand } from "../arguments.ts";
import { once, type SimpleCommand } from "../command.ts";
import type { Blast, Irreversibility, Pack, Rule } from "../rule.ts";

function rule(
  id: string,
  pack: Pack,
  commands: readonly string[],
  match: (command: SimpleCommand) => boolean,
  weight: readonly [Blast, Irreversibility],
  threat: string,
  explanation: string,
): Rule {
  return {
    id: `${pack}.${id}`,
    pack,
    commands,
    match: (command) => match(command) && !isRehearsal(command),
    blast: weight[0],
    irreversibility: weight[1],
    threat,
    explanation,
    safer_alternative: "Show the plan first (terraform plan, --dry-run), and have it reviewed.",
  };
}

const TERRAFORM = ["terraform", "tofu", "terragrunt"];
const TERRAFORM_VALUED = new Set(["-chdir"]);
const asksNobody = (arg: string) => arg.includes("auto-approve") || arg.includes("non-interactive");

function endsService(command: SimpleCommand): boolean {
  const [service = "", verb = ""] = once(command, awsWords);
  return (verb.includes("deletion") && verb.split("-").includes("deletion")) ||
    verb === "schedule-key-deletion" ||
    verb === "delete-db-cluster" || verb === "delete-db-instance" ||
    (service === "organizations" && (verb === "close-account" || verb.startsWith("leave")));
}

const AWS_VALUED = new Set(["--profile", "--region", "--output", "--query", "--endpoint-url"]);
/** The service and what it is asked for: `rds delete-db-instance`. */
export const awsWords = (command: SimpleCommand) => operands(command, AWS_VALUED);

/** What the verb tables of management tools do not tell. */
export const CLOUD_RULES: readonly Rule[] = [
  rule(
    "infrastructure_destroy",
    "cloud",
    TERRAFORM,
    (command) =>
      (subcommand(command, TERRAFORM_VALUED).includes("destroy") ||
        hasFlag(command, "", "destroy")) &&
      command.args.some((arg) => arg === "run-all" || asksNobody(arg)),
    [5, 5],
    "resource_deletion",
    "It destroys the whole infrastructure without asking.",
  ),
  rule(
    "infrastructure_apply",
    "cloud",
    [...TERRAFORM, "pulumi", "cdk"],
    (command) => {
      const words = subcommand(command, TERRAFORM_VALUED);
      const verb = words[0];
      return (verb === "apply" && hasOption(command, "-destroy", "--destroy")) ||
        (words.includes("apply") && command.args.some(asksNobody)) ||
        (verb === "up" && hasFlag(command, "y", "yes", "skip-preview")) ||
        (verb === "deploy" && hasOption(command, "--force"));
    },
    [3, 4],
    "resource_change",
    "It changes the infrastructure without showing the plan.",
  ),
  rule(
    "infrastructure_state",
    "cloud",
    TERRAFORM,
    (command) => {
      const [verb, what] = subcommand(command, TERRAFORM_VALUED);
      return (verb === "state" && ["rm", "mv", "push", "replace-provider"].includes(what ?? "")) ||
        verb === "taint" || verb === "force-unlock";
    },
    [3, 3],
    "resource_change",
    "It changes the record of what exists, by hand.",
  ),
  rule(
    "close_account",
    "cloud",
    ["aws"],
    endsService,
    [4, 5],
    "resource_deletion",
    "It ends a whole service, database or account.",
  ),
  rule(
    "bucket_recursive",
    "cloud",
    ["aws", "gsutil", "gcloud", "s3cmd", "mc", "s5cmd"],
    (command) =>
      command.args.some((arg) => ["rm", "rb", "del", "mv"].includes(arg)) &&
      hasFlag(command, "rR", "recursive", "force"),
    [4, 4],
    "data_loss",
    "It deletes or moves every object below a path, or a whole bucket.",
  ),
  rule(
    "bucket_sync",
    "cloud",
    ["aws", "gsutil", "rclone", "gcloud", "azcopy", "mc", "s3cmd"],
    (command) =>
      command.name === "rclone"
        ? ["sync", "move", "moveto", "dedupe"].includes(operands(command)[0] ?? "") &&
          !hasFlag(command, "n")
        : (command.args.includes("sync") || command.args.includes("rsync") ||
          command.args.includes("mirror")) &&
          (hasOption(
            command,
            "--delete",
            "--delete-removed",
            "--remove",
            "--delete-destination",
            "--delete-unmatched-destination-objects",
          ) || (command.name === "gsutil" && hasFlag(command, "d"))),
    [3, 4],
    "data_loss",
    "It deletes or moves what is missing at the other side.",
  ),
  rule(
    "cli_verbs",
    "databases",
    [
      "kafka-topics",
      "kafka-topics.sh",
      "kafka-consumer-groups",
      "kafka-consumer-groups.sh",
      "kafka-acls",
      "kafka-acls.sh",
      "kafka-configs",
      "kafka-configs.sh",
      "kafka-delete-records",
      "kafka-delete-records.sh",
      "kafka-streams-application-reset",
      "kafka-leader-election",
      "kafka-reassign-partitions",
      "zkcli.sh",
      "kafka-storage",
    ],
    (command) =>
      command.name.startsWith("kafka-delete") || command.name.includes("-reset") ||
      hasOption(
        command,
        "--delete",
        "--remove",
        "--delete-config",
        "--reset-offsets",
        "--delete-offsets",
        "--cancel",
      ) || (command.name.startsWith("kafka-storage") && command.args.includes("format")) ||
      (command.name.startsWith("zkcli") &&
        command.args.some((arg) => arg.startsWith("delete") || arg === "rmr")),
    [3, 4],
    "data_loss",
    "It deletes topics, groups, records or their settings.",
  ),
  rule(
    "java_delete",
    "cloud",
    ["java"],
    (command) => {
      const jar = command.args.findIndex((arg) => arg.endsWith(".jar"));
      return jar >= 0 &&
        command.args.slice(jar + 1).some((arg) =>
          arg.startsWith("delete-") || arg === "safe-shutdown" || arg === "shutdown" ||
          arg === "groovy" || arg.startsWith("disable-")
        );
    },
    [3, 4],
    "resource_deletion",
    "It asks a server, through its command-line client, to delete something.",
  ),
  rule(
    "api_delete",
    "git",
    ["gh", "glab"],
    (command) =>
      (command.args[0] === "repo" && ["edit", "rename"].includes(command.args[1] ?? "") &&
        command.args.some((arg) => arg.startsWith("--visibility"))) ||
      (command.args[0] === "auth" && command.args[1] === "token"),
    [3, 3],
    "exposure",
    "It exposes a repository or a token.",
  ),
  rule(
    "crontab",
    "persistence",
    ["crontab"],
    (command) => hasFlag(command, "r"),
    [3, 5],
    "data_loss",
    "It deletes every scheduled job of the user.",
  ),
];
