import { hasOption, isUnknown, operands, optionValues } from "../../programs/arguments.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";
import { readsBySql, SAFER, setOf, VALUED } from "./cloud_words.ts";

/** The first piece of an operation of AWS that only asks, computes or sends a message. */
const AWS_ASKS = setOf(
  "analyze assume autocomplete calculate carrier check classify compare configure contains converse count decode " +
    "decrypt derive describe detect discover download encrypt estimate evaluate export filter forecast generate " +
    "geocode get head help history infer introspect invoke is list login logout lookup ls optimize phone poll " +
    "predict presign preview probe query re receive recognize render rerank rescore retrieve sample scan " +
    "search select send sign simulate snap suggest synthesize tail test transcribe translate validate verify view wait",
);

/** Services of AWS of which each call goes to this machine, or to files and objects, which have rules of their own. */
const AWS_OTHER = setOf("configure help history login logout sso sts sts-token cli-dev");
const AWS_FILES = setOf("cp ls mv presign rm rb sync");

/** Whole operations of AWS that back up, query, connect or send, though their verb says otherwise. */
const AWS_HARMLESS = setOf(
  "create-backup create-change-set create-db-cluster-snapshot create-db-snapshot create-snapshot create-snapshots " +
    "create-token credential-helper package publish publish-batch put-events put-log-events put-metric-data put-record put-record-batch " +
    "put-records put-trace-segments resume-session socks ssh start-live-tail start-query start-query-execution " +
    "start-session stop-query stop-query-execution terminate-session transact-get-items update-kubeconfig",
);

/** Pieces behind `batch` and `admin` that only ask. */
const BATCH_ASKS = setOf("check describe detect evaluate get is list query read search");

function changesAws(command: SimpleCommand): boolean {
  // Options may stand in a variable: `aws $OPTIONS s3 ls`.
  const all = operands(command, VALUED);
  const words = all.length > 2 && isUnknown(all[0]!) ? all.slice(1) : all;
  const service = words[0]?.toLowerCase() ?? "";
  const operation = words[1]?.toLowerCase() ?? "";
  if (operation === "" || AWS_OTHER.has(service) || words.includes("help")) return false;
  if (service === "s3" && AWS_FILES.has(operation)) return false;
  const [verb = "", noun = ""] = operation.split("-");
  // The commands of a shell script are judged by themselves; other documents may do anything.
  if (operation === "send-command") return !command.args.some((arg) => arg.includes("commands"));
  if (AWS_ASKS.has(verb) || AWS_HARMLESS.has(operation)) return false;
  if ((verb === "batch" || verb === "admin") && BATCH_ASKS.has(noun)) return false;
  if (verb === "execute" && (noun === "statement" || noun === "sql" || noun === "command")) {
    // What it runs on a machine is judged by itself.
    return noun !== "command" && changesBySql(command);
  }
  return !(hasOption(command, "--dry-run") && AWS_REHEARSES.has(service));
}

/** Services whose operations know `--dry-run`. */
const AWS_REHEARSES = setOf("ec2 lambda ssm-quicksetup");

function changesBySql(command: SimpleCommand): boolean {
  return !optionValues(command, "--sql", "--statement", "--sql-statements").some(readsBySql);
}

/** Calls of AWS that alter what runs there. */
export const AWS_CHANGES: readonly Rule[] = [
  rule({
    id: "production.cloud_aws",
    title: "Change resources at AWS",
    commands: ["aws", "awslocal"],
    match: (command) => changesAws(command) && !hasOption(command, "--generate-cli-skeleton"),
    weight: [3, 3],
    threat: "production_change",
    explanation: "It creates, starts or changes resources at AWS.",
    safer: SAFER,
    hits: [
      "aws ec2 start-instances --instance-ids i-1",
      "aws --profile prod --region eu-west-1 ecs update-service --cluster c --service web --desired-count 3",
      "aws rds modify-db-instance --db-instance-identifier x --backup-retention-period 14",
      "aws ssm put-parameter --name /web/url --value x --overwrite",
      "aws cloudformation deploy --template-file t.yml --stack-name web",
      "aws rds reboot-db-instance --db-instance-identifier x --dry-run",
      "aws lambda update-function-code --function-name f --zip-file fileb://f.zip",
    ],
    misses: [
      "aws ec2 describe-instances",
      "aws s3 ls s3://logs",
      "aws ec2 start-instances --instance-ids i-1 --dry-run",
      "aws logs start-query --log-group-name g --query-string q",
      "aws cloudformation validate-template --template-body file://t.yaml",
      "aws lambda invoke --function-name hello out.json",
      "aws ecr batch-get-image --repository-name r",
      "aws rds-data execute-statement --sql 'select 1'",
      "aws configure set region eu-west-1",
      "aws eks update-kubeconfig --name dev",
      "aws ec2 start-instances help",
    ],
  }),
];
