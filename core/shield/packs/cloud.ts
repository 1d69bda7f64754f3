import { hasFlag, hasOption, operands, subcommand } from "../programs/arguments.ts";
import type { Rule } from "../model.ts";
import { defineRule } from "./define.ts";

const SAFER = "Show the plan first (terraform plan, --dry-run), and have it reviewed.";

const TERRAFORM = ["terraform", "tofu", "terragrunt"];
const TERRAFORM_VALUED = new Set(["-chdir"]);
const asksNobody = (arg: string) => arg.includes("auto-approve") || arg.includes("non-interactive");

/** Infrastructure as code, and buckets: what the verb tables of management tools do not tell. */
export const CLOUD_RULES: readonly Rule[] = [
  defineRule(
    "cloud",
    "infrastructure_destroy",
    TERRAFORM,
    (command) =>
      (subcommand(command, TERRAFORM_VALUED).includes("destroy") ||
        hasFlag(command, "", "destroy")) &&
      command.args.some((arg) => arg === "run-all" || asksNobody(arg)),
    [5, 5],
    "resource_deletion",
    "It destroys the whole infrastructure without asking.",
    SAFER,
  ),
  defineRule(
    "cloud",
    "infrastructure_apply",
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
    SAFER,
  ),
  defineRule(
    "cloud",
    "bucket_recursive",
    ["aws", "gsutil", "gcloud", "s3cmd", "mc", "s5cmd"],
    (command) =>
      command.args.some((arg) => ["rm", "rb", "del", "mv"].includes(arg)) &&
      hasFlag(command, "rR", "recursive", "force"),
    [4, 4],
    "data_loss",
    "It deletes or moves every object below a path, or a whole bucket.",
    SAFER,
  ),
  defineRule(
    "cloud",
    "bucket_sync",
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
    SAFER,
  ),
];
