import type { Rule, SimpleCommand } from "../../model.ts";
import { hasOption, operands, optionValues } from "../../programs/arguments.ts";
import { rule } from "../rule.ts";

const setOf = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Options of the clouds' command lines whose value is the next word. */
const VALUED = setOf(
  "--profile --region --output --query --endpoint-url --ca-bundle --cli-read-timeout --cli-connect-timeout --color " +
    "--cli-binary-format --project --account --format --configuration --verbosity --impersonate-service-account " +
    "--access-token-file --billing-project --flags-file --zone --subscription --resource-group -g -n --name -o " +
    "--location -l -s --scope -p -t --access-token --context --compartment-id --config-file --os-cloud",
);

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
  const words = operands(command, VALUED);
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
  return !optionValues(command, "--sql", "--statement", "--sql-statements").some((text) =>
    /^\s*(?:select|with|show|explain|describe)\b/i.test(text)
  );
}

/** Verbs that change something, over all clouds but AWS; they may be parts of a word. */
const CHANGES = setOf(
  "abandon accept activate add allocate allow approve apply assign associate attach authorize boot bulk cancel change " +
    "clone complete configure convert copy create deactivate deallocate decommission demote deploy detach disable " +
    "disassociate drain edit enable evacuate execute expand extend failback failover grant import init insert install invalidate " +
    "invite join launch lock migrate modify move open patch pause perform poweroff poweron promote provision publish " +
    "push put reapply reboot rebuild recover recreate redeploy refresh regenerate register reimage reinstall reload " +
    "remove rename renew replace replicate request rescue reset resize restart restore resume retry revert revoke " +
    "rollback rotate run scale set shelve shutdown start stop submit suspend swap switch switchover sync tag transfer " +
    "trigger unassign undelete undeploy unlock unpause unrescue unset unshelve untag update upgrade",
);
/** Words that change something as they stand. */
const WHOLE = setOf("action build config-local-git config-zip power simulate-eviction up");

/** Words that end the search: what follows them is a name. */
const ASKS = setOf(
  "browse check connect describe diff download export exists get help info inspect list logs login logout ls plan " +
    "print print-access-token pull read search show ssh scp status tail test validate version view wait what-if",
);

/** Groups and commands that change only this machine, or that have rules of their own. */
const LOCAL: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    "gcloud",
    setOf(
      "auth config components init topic feedback info cheat-sheet emulators survey source docker cloud-shell storage",
    ),
  ],
  [
    "az",
    setOf(
      "login logout configure config account extension feedback find interactive cloud version upgrade bicep self-test " +
        "cache init survey rest",
    ),
  ],
  ["doctl", setOf("auth version completion sbx")],
  ["ibmcloud", setOf("login logout target config plugin api version update help regions sl-local")],
  ["oci", setOf("setup session")],
  ["hcloud", setOf("context config version completion")],
  [
    "linode-cli",
    setOf("configure completion obj set-user remove-user show-users plugins register-plugin"),
  ],
  ["scw", setOf("init config login version autocomplete info feedback help shell")],
  ["openstack", setOf("complete help token configuration catalog")],
  ["vultr-cli", setOf("version completion")],
  ["civo", setOf("apikey completion version region")],
  ["exo", setOf("config version status completion")],
  ["upctl", setOf("config version completion account")],
  ["aliyun", setOf("configure version auto-completion plugin")],
]);

/** Commands that back up, read, or write to this machine or to objects, though a word of them says otherwise. */
const HARMLESS = [
  "backup create",
  "backups create",
  "boards work-item",
  "create-image",
  "create-kubeconfig",
  "generate-kubeconfig",
  "image create",
  "install-cli",
  "os object",
  "previews create",
  "repos pr",
  "snapshot create",
  "snapshots create",
  "start-iap-tunnel",
  "storage blob",
  "storage copy",
  "storage file",
  "storage fs",
  "topics publish",
];

/** Options that show what would happen. */
const SHOWS: ReadonlyMap<string, readonly string[]> = new Map([
  ["az", ["--what-if", "-w", "--validate"]],
  ["gcloud", ["--validate-only", "--preview"]],
]);

/** Verbs stand first (`set-labels`) or last (`instance-start`) in a word. */
function partOf(word: string): boolean {
  const dash = word.indexOf("-");
  return dash > 0 &&
    (CHANGES.has(word.slice(0, dash)) || CHANGES.has(word.slice(word.lastIndexOf("-") + 1)));
}

/** Groups whose name is also a verb. */
const GROUPS = setOf("deploy image patch run transfer");

const WORDS_MAX = 7;

const asks = (word = ""): boolean => ASKS.has(word) || QUESTION.test(word);
const QUESTION = /^(?:check|describe|get|list|show)-/;

function changesCloud(command: SimpleCommand): boolean {
  // `RebootInstance` is `reboot-instance`.
  const all = operands(command, VALUED).slice(0, WORDS_MAX)
    .map((word) => word.replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase());
  const words = CHANNELS.has(all[0] ?? "") ? all.slice(1) : all;
  if (LOCAL.get(command.name)?.has(words[0] ?? "")) return false;
  for (const [at, word] of words.entries()) {
    if (asks(word)) return false;
    if (at === 0 && GROUPS.has(word)) continue;
    const whole = CHANGES.has(word) || WHOLE.has(word);
    // `patch-jobs list`: the verb is part of a group's name.
    if (!whole && (!partOf(word) || asks(words[at + 1]) || asks(words[at + 2]))) continue;
    const call = ` ${words.slice(0, at + 2).join(" ")} `;
    return !HARMLESS.some((one) => call.includes(` ${one} `)) &&
      !hasOption(command, "--help", "-h", ...SHOWS.get(command.name) ?? []);
  }
  return false;
}

const CHANNELS = setOf("alpha beta preview");

const SAFER = "List or describe first what it would change.";

/** Calls of clouds that alter what runs in them. */
export const CLOUD_CHANGES: readonly Rule[] = [
  rule({
    id: "production.cloud_aws",
    title: "Change resources at AWS",
    commands: ["aws", "awslocal"],
    match: (command) => changesAws(command) && !hasOption(command, "--generate-cli-skeleton"),
    evenRehearsed: true,
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
  rule({
    id: "production.cloud_platform",
    title: "Change resources of a cloud",
    commands: [...LOCAL.keys(), "metal", "packet", "tccli", "yc", "nebius"],
    match: changesCloud,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It creates, starts or changes resources of a cloud.",
    safer: SAFER,
    hits: [
      "gcloud compute instances start web-1",
      "gcloud run deploy api --source . --region europe-west1",
      "gcloud beta run services update-traffic api --to-latest",
      "gcloud container clusters resize c --num-nodes 5 -q",
      "az vm start -g rg -n vm",
      "az webapp config appsettings set -g rg -n app --settings A=b",
      "az deployment group create -g rg -f main.bicep",
      "doctl compute droplet-action reboot 1",
      "hcloud server poweron web1",
      "linode-cli linodes reboot 123",
      "oci compute instance action --instance-id i --action SOFTRESET",
      "ibmcloud is instance-start web",
      "openstack server set --name web2 web",
      "scw instance server reboot 123",
    ],
    misses: [
      "gcloud compute instances list",
      "gcloud config set project staging",
      "gcloud deploy releases list",
      "gcloud run services describe api",
      "gcloud container clusters get-credentials dev --zone europe-west1-b",
      "az vm list -o table",
      "az deployment group what-if -g rg -f main.bicep",
      "az deployment group create -g rg -f main.bicep --what-if",
      "az account set --subscription x",
      "az aks get-credentials -g rg -n cluster",
      "doctl compute droplet-action get 1",
      "doctl kubernetes cluster kubeconfig save prod",
      "hcloud server list -o noheader",
      "ibmcloud is instances",
      "openstack server show web",
      "linode-cli linodes list",
    ],
  }),
];
