import { type Rule, rule } from "../rule.ts";
import { hasFlag, hasOption, operands, subcommand } from "../../programs/arguments.ts";

const SAFER = "Show the plan first (terraform plan, --dry-run), and have it reviewed.";

const TERRAFORM = ["terraform", "tofu", "terragrunt"];
const TERRAFORM_VALUED = new Set(["-chdir"]);
const asksNobody = (arg: string) => arg.includes("auto-approve") || arg.includes("non-interactive");

/** Infrastructure as code, and buckets: what the verb tables of management tools do not tell. */
export const CLOUD_RULES: readonly Rule[] = [
  rule({
    id: "cloud.infrastructure_destroy",
    title: "Destroy the infrastructure without asking",
    commands: TERRAFORM,
    match: (command) =>
      (subcommand(command, TERRAFORM_VALUED).includes("destroy") ||
        hasFlag(command, "", "destroy")) &&
      command.args.some((arg) => arg === "run-all" || asksNobody(arg)),
    weight: [5, 5],
    threat: "resource_deletion",
    explanation: "It destroys the whole infrastructure without asking.",
    safer: SAFER,
    hits: ["terraform destroy -auto-approve", "terragrunt run-all destroy"],
    misses: ["terraform plan -destroy", "terragrunt run-all plan"],
  }),
  rule({
    id: "cloud.infrastructure_apply",
    title: "Change the infrastructure without a plan",
    commands: [...TERRAFORM, "pulumi", "cdk"],
    match: (command) => {
      const words = subcommand(command, TERRAFORM_VALUED);
      const verb = words[0];
      return (verb === "apply" && hasOption(command, "-destroy", "--destroy")) ||
        (words.includes("apply") && command.args.some(asksNobody)) ||
        (verb === "up" && hasFlag(command, "y", "yes", "skip-preview")) ||
        (verb === "deploy" && hasOption(command, "--force"));
    },
    weight: [3, 4],
    threat: "resource_change",
    explanation: "It changes the infrastructure without showing the plan.",
    safer: SAFER,
    hits: ["terraform apply -auto-approve", "pulumi up --yes"],
    misses: ["terraform apply plan.tfplan", "pulumi preview --diff"],
  }),
  rule({
    id: "cloud.bucket_recursive",
    title: "Delete or move every object of a bucket",
    commands: ["aws", "gsutil", "gcloud", "s3cmd", "mc", "s5cmd"],
    match: (command) =>
      command.args.some((arg) => ["rm", "rb", "del", "mv"].includes(arg)) &&
      hasFlag(command, "rR", "recursive", "force"),
    weight: [4, 4],
    threat: "data_loss",
    explanation: "It deletes or moves every object below a path, or a whole bucket.",
    safer: SAFER,
    hits: ["aws s3 rb s3://logs --force", "gsutil -m rm -r gs://bucket"],
    misses: ["aws s3 ls s3://logs --recursive", "gsutil ls -l gs://reports"],
  }),
  rule({
    id: "cloud.bucket_sync",
    title: "Mirror a bucket and delete what is missing",
    commands: ["aws", "gsutil", "rclone", "gcloud", "azcopy", "mc", "s3cmd"],
    match: (command) =>
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
    weight: [3, 4],
    threat: "data_loss",
    explanation: "It deletes or moves files that are missing on the other side.",
    safer: SAFER,
    hits: ["aws s3 sync ./empty s3://prod-data --delete", "rclone sync ./empty remote:bucket"],
    misses: ["aws s3 sync ./public s3://site/", "rclone copy ./dist remote:site"],
  }),
];
