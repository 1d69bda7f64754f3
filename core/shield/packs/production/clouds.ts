import { hasOption, isUnknown, operands, optionValues } from "../../programs/arguments.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";
import { changeRule } from "./change.ts";
import {
  asks,
  CHANGES,
  partChanges,
  readsBySql,
  SAFER,
  separated,
  setOf,
  SMALL_CLOUDS,
  VALUED,
} from "./cloud_words.ts";

/** Words that change something as they stand. */
const WHOLE = setOf("action build config-local-git config-zip power simulate-eviction up");

/** Groups and commands that change only this machine, or that have rules of their own. */
const LOCAL: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    "gcloud",
    setOf(
      "auth config components init topic feedback info cheat-sheet emulators survey source docker cloud-shell",
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
  "job create-plan-job",
  "job create-drift-detection-job",
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

/** Groups whose name is also a verb. */
const GROUPS = setOf("deploy image patch run transfer");

const WORDS_MAX = 7;

function changesCloud(command: SimpleCommand): boolean {
  const all = operands(command, VALUED).slice(0, WORDS_MAX).map(separated);
  const words = CHANNELS.has(all[0] ?? "") ? all.slice(1) : all;
  if (LOCAL.get(command.name)?.has(words[0] ?? "")) return false;
  for (const [at, word] of words.entries()) {
    if (asks(word)) return false;
    if (at === 0 && GROUPS.has(word)) continue;
    const whole = CHANGES.has(word) || WHOLE.has(word);
    // `patch-jobs list`: the verb is part of a group's name.
    if (
      !whole && (!partChanges(word) || asks(words[at + 1]) || isListed(command.args, words[at + 2]))
    ) continue;
    if (word === "execute-sql") return !optionValues(command, "--sql").every(readsBySql);
    const call = ` ${words.slice(0, at + 2).join(" ")} `;
    return !HARMLESS.some((one) => call.includes(` ${one} `)) &&
      !hasOption(command, "--help", "-h", ...SHOWS.get(command.name) ?? []);
  }
  return computesVerb(command);
}

/** `gcloud compute instances "$ACTION" web-1`: behind a group stands a verb. */
const computesVerb = ({ args }: SimpleCommand): boolean =>
  args.slice(0, WORDS_MAX).some((arg, at) =>
    isUnknown(arg[0] ?? "") && GROUP.test(args[at - 1] ?? "") && !args[at - 2]?.startsWith("-") &&
    at + 1 < args.length && !args.slice(at + 1).some(asks)
  );
const GROUP = /^[a-z][a-z-]*(?:[^s]s|action|cluster|droplet|group|instance|server|vm|webapp)$/;

/** `patch-policies weekly list`: no option stands before the word that asks. */
const isListed = (args: readonly string[], word: string | undefined): boolean =>
  asks(word) && !args.slice(0, args.indexOf(word ?? "")).some((arg) => arg.startsWith("-"));

const CHANNELS = setOf("alpha beta preview");

/** Calls of clouds that alter what runs in them. */
export const CLOUD_CHANGES: readonly Rule[] = [
  rule({
    id: "production.cloud_platform",
    title: "Change resources of a cloud",
    commands: [...LOCAL.keys(), ...SMALL_CLOUDS],
    match: changesCloud,
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
      "yc compute instance restart web-1",
      'read -r ACTION VM < job.txt && gcloud compute instances "$ACTION" "$VM" -q',
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
      "yc compute instance list",
      'read -r VM < job.txt && gcloud compute ssh "$VM" --command uptime',
    ],
  }),
  changeRule({
    id: "production.cloud_buckets",
    title: "Make a bucket, or change its settings",
    changes: [
      {
        names: "gsutil",
        verbs: [
          "mb|setmeta|rewrite",
          "iam|acl|defacl|label|versioning|cors|web|logging|requesterpays|autoclass|rpo|pap ch|set",
          "bucketpolicyonly|ubla|defstorageclass set",
          "notification create|watchbucket|stopchannel",
          "retention set|clear|lock|event-default|event|temp",
          "kms encryption|authorize",
          "hmac create|update",
        ],
      },
      {
        names: "s3cmd",
        verbs: [
          "mb|setacl|setpolicy|setcors|setlifecycle|setversioning|setnotification|setownership",
          "setblockpublicaccess|modify|accesslog|ws-create|cfcreate|cfmodify|cfinval|restore|payer",
        ],
      },
      {
        names: "mc mcli",
        verbs: [
          "mb",
          "anonymous|policy|tag|encrypt|event|ilm|replicate|quota|retention set|add|edit|import",
          "anonymous|policy set-json|links",
          "version enable|suspend",
          "ilm rule|tier add|edit|import|restore",
          "legalhold set|clear",
          "admin user|group|policy|service|config|bucket|accesskey add|attach|set|enable|restart|stop",
          "admin user|group|policy|accesskey create|edit|detach|update|unfreeze",
          "admin update|decommission|rebalance|heal",
          "!admin decommission|rebalance status",
          "support proxy|callhome set|enable",
        ],
      },
    ],
    explanation: "It makes a bucket, or changes who may use it and how it keeps its objects.",
    safer: "Show the present settings first.",
    hits: [
      "gsutil versioning set on gs://b",
      "gsutil iam ch user:a@b.example:objectViewer gs://b",
      "s3cmd setpolicy p.json s3://b",
      "mc version enable store/b",
    ],
    misses: [
      "gsutil iam get gs://b",
      "gsutil cp build.zip gs://b/build.zip",
      "s3cmd info s3://b",
      "mc admin info store",
    ],
  }),
];
