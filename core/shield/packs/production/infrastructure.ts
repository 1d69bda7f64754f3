import type { Rule } from "../../model.ts";
import { changeRule } from "./change.ts";

const TERRAFORM = "terraform tofu";
const SAFER =
  "Show the plan first (terraform plan, pulumi preview, cdk diff), and have it reviewed.";

/** Changes of infrastructure by plans. */
export const INFRASTRUCTURE_CHANGES: readonly Rule[] = [
  changeRule({
    id: "production.infrastructure_apply",
    title: "Apply an infrastructure plan",
    changes: [
      { names: TERRAFORM, verbs: ["apply|refresh", "stacks deploy"] },
      {
        names: "terragrunt",
        verbs: [
          "apply|apply-all|refresh|import|taint|untaint|aws-provider-patch",
          "run-all|run|stack apply|refresh|import|taint|untaint",
          "stack run apply|refresh",
        ],
      },
      // `terragrunt run --all -- apply`
      {
        names: "terragrunt",
        verbs: ["run|run-all"],
        when: ({ args }) => args.includes("apply"),
      },
      { names: "pulumi", passes: "--preview-only", verbs: ["refresh|destroy"] },
      {
        names: "pulumi",
        verbs: [
          "up|update|import|watch|cancel",
          "state unprotect|rename|move|upgrade|repair|protect",
          "stack import|rename|change-secrets-provider",
          "policy publish|enable",
          "deployment run",
        ],
      },
      {
        names: "cdk aws-cdk",
        passes: "--no-execute",
        verbs: ["deploy|bootstrap|import|rollback|watch|refactor"],
      },
      { names: "cdktf", verbs: ["deploy|apply|watch"] },
      {
        names: "serverless sls osls",
        verbs: [
          "deploy|rollback",
          "!deploy list",
          "invoke",
          "!invoke local",
        ],
      },
      {
        names: "sst",
        verbs: [
          "deploy|refresh|unlock",
          "secret|secrets set|remove|load",
          "state edit|repair|remove",
        ],
      },
      {
        names: "sam",
        passes: "--no-execute-changeset",
        verbs: ["deploy|sync|publish", "pipeline bootstrap", "remote invoke|execution"],
      },
      {
        names: "copilot",
        passes: "--diff",
        verbs: [
          "deploy|init",
          "app|env|svc|job|task|pipeline|secret init|deploy|upgrade|run|pause|resume|override",
        ],
      },
      {
        names: "spacectl",
        verbs: ["stack deploy|confirm|approve|task|lock|unlock|set-current-commit"],
      },
      {
        names: "atmos terramate",
        verbs: ["terraform apply|deploy|refresh|import", "run"],
        when: ({ args }) => args.some((arg) => INNER_APPLY.has(arg)),
      },
      { names: "tfctl", verbs: ["reconcile|suspend|resume|replan|break-the-glass"] },
      { names: "bicep", verbs: ["publish|publish-extension"] },
      { names: "rain", passes: "--experimental", verbs: ["deploy|rm|stackset"] },
      { names: "arc", verbs: ["deploy"] },
    ],
    weight: [3, 4],
    explanation: "It changes infrastructure as a plan says.",
    safer: SAFER,
    hits: [
      "terraform apply tfplan",
      "terraform -chdir=infra/prod apply -refresh-only",
      "tofu apply",
      "terragrunt run-all apply",
      "terragrunt run --all -- apply",
      "pulumi up",
      "pulumi -C infra refresh --yes",
      "cdk deploy --all",
      "sls deploy --stage prod",
      "sam deploy --stack-name web",
      "copilot svc deploy --name api --env prod",
    ],
    misses: [
      "terraform plan -out=tfplan",
      "terraform show tfplan",
      "terraform init -upgrade",
      "terraform apply -help",
      "terragrunt run-all plan",
      "pulumi preview --diff",
      "pulumi refresh --preview-only",
      "pulumi stack ls",
      "cdk diff",
      "cdk deploy --no-execute",
      "sls package",
      "sls invoke local -f web",
      "sam build",
      "sam deploy --no-execute-changeset",
      "copilot svc status",
    ],
  }),
  changeRule({
    id: "production.infrastructure_state",
    title: "Change the record of an infrastructure",
    changes: [
      {
        names: `${TERRAFORM} terragrunt`,
        verbs: ["import|taint|untaint|force-unlock", "state mv|push|replace-provider"],
      },
      {
        names: `${TERRAFORM} terragrunt`,
        needs: "-migrate-state -force-copy --migrate-state --force-copy",
        verbs: ["init"],
      },
    ],
    explanation: "It changes the record of existing resources, on which every later plan relies.",
    safer: "Back the state up first: terraform state pull.",
    hits: [
      "terraform import aws_s3_bucket.b my-bucket",
      "terraform untaint aws_instance.web",
      "tofu state mv a.b c.d",
      "terraform init -migrate-state",
    ],
    misses: ["terraform state list", "terraform state pull", "terraform init -reconfigure"],
  }),
];

const INNER_APPLY: ReadonlySet<string> = new Set(["apply", "deploy", "refresh", "import"]);
