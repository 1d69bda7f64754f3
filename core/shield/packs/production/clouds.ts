import { hasOption, operands } from "../../programs/arguments.ts";
import { type Rule, rule, type SimpleCommand } from "../rule.ts";
import { changeRule } from "./change.ts";
import { SAFER, setOf, VALUED } from "./cloud_words.ts";

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

/** Calls of clouds that alter what runs in them. */
export const CLOUD_CHANGES: readonly Rule[] = [
  rule({
    id: "production.cloud_platform",
    title: "Change resources of a cloud",
    commands: [...LOCAL.keys(), "metal", "packet", "tccli", "yc", "nebius"],
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
