import { hasFlag, hasOption, optionValues } from "../programs/arguments.ts";
import type { Rule } from "../model.ts";
import { verbRule } from "./define.ts";

const KUBECTL = ["kubectl", "oc", "k3s", "microk8s", "kubecolor", "k"];

/** Kinds that hold other objects or data: deleting one deletes what is inside. */
const BIG_KINDS = new Set([
  "ns",
  "namespace",
  "namespaces",
  "pv",
  "persistentvolume",
  "persistentvolumes",
  "pvc",
  "persistentvolumeclaim",
  "persistentvolumeclaims",
  "crd",
  "crds",
  "customresourcedefinition",
  "customresourcedefinitions",
  "node",
  "nodes",
  "no",
  "all",
  "statefulset",
  "statefulsets",
  "sts",
  "project",
  "cluster",
  "storageclass",
  "sc",
  "clusterrole",
  "clusterrolebinding",
]);
const SAFER_KUBECTL = "Run it with --dry-run=server first, and name single objects.";

/** Clusters, and what runs in them. */
export const KUBERNETES_RULES: readonly Rule[] = [
  verbRule(
    "kubernetes",
    "delete_everything",
    KUBECTL,
    (command, words) => words.includes("delete") && hasFlag(command, "A", "all-namespaces"),
    [5, 4],
    "resource_deletion",
    "It deletes objects in every namespace.",
    SAFER_KUBECTL,
  ),
  verbRule(
    "kubernetes",
    "delete_big",
    KUBECTL,
    (command, words) =>
      (words[1] ?? "").split("/").join(",").split(",").some((kind) => BIG_KINDS.has(kind)) ||
      hasOption(command, "--all"),
    [4, 4],
    "resource_deletion",
    "It deletes something that holds other objects or data.",
    SAFER_KUBECTL,
    ["delete"],
  ),
  verbRule(
    "kubernetes",
    "delete",
    KUBECTL,
    () => true,
    [2, 4],
    "resource_deletion",
    "It deletes objects of the cluster.",
    SAFER_KUBECTL,
    ["delete"],
  ),
  verbRule(
    "kubernetes",
    "replace",
    KUBECTL,
    (command) => hasFlag(command, "", "force"),
    [3, 4],
    "resource_deletion",
    "It deletes objects and makes them anew.",
    "Use kubectl apply.",
    ["replace"],
  ),
  verbRule(
    "kubernetes",
    "prune",
    KUBECTL,
    (command) => hasOption(command, "--prune"),
    [3, 4],
    "resource_deletion",
    "It deletes every object that the files do not name.",
    SAFER_KUBECTL,
    ["apply"],
  ),
  verbRule(
    "kubernetes",
    "evict",
    KUBECTL,
    (command, words) =>
      words[0] === "drain" || command.args.some((arg) => arg.toLowerCase().includes("noexecute")),
    [3, 3],
    "service_disruption",
    "It takes every workload off a node.",
    "Cordon the node, and move workloads one by one.",
    ["drain", "patch", "taint"],
  ),
  verbRule(
    "kubernetes",
    "scale_to_zero",
    KUBECTL,
    (command, words) =>
      (words[0] === "scale" && optionValues(command, "--replicas").includes("0")) ||
      (words[0] === "patch" &&
        optionValues(command, "-p", "--patch").some((text) =>
          text.replaceAll(" ", "").includes('"replicas":0')
        )),
    [3, 3],
    "service_disruption",
    "It stops every copy of a workload.",
    "Scale down step by step.",
    ["scale", "patch"],
  ),
  verbRule(
    "kubernetes",
    "read_secrets",
    KUBECTL,
    (command, words) =>
      words.slice(1).some((word) => word.split("/", 1)[0]?.startsWith("secret")) &&
      optionValues(command, "-o", "--output").some((format) =>
        format !== "name" && format !== "wide"
      ),
    [3, 3],
    "credential_access",
    "It prints the cluster's secrets.",
    "Describe the secret, which shows names only.",
    ["get"],
  ),
  verbRule(
    "kubernetes",
    "grant",
    KUBECTL,
    (command, words) =>
      (words[1] === "clusterrolebinding" || words[1] === "rolebinding") &&
      (optionValues(command, "--clusterrole").some((role) => ADMINS.has(role)) ||
        optionValues(command, "--group").some((group) => ANYBODY.has(group))),
    [4, 3],
    "privilege_escalation",
    "It gives somebody every right in the cluster or a namespace.",
    "Bind a role with the rights that are needed.",
    ["create"],
  ),
  verbRule(
    "kubernetes",
    "open_api",
    KUBECTL,
    (command) => optionValues(command, "--address").some((address) => address === "0.0.0.0"),
    [4, 3],
    "exposure",
    "It offers the cluster's interface, with your rights, to whoever can connect.",
    "Leave out --address: the proxy listens on the loopback address.",
    ["proxy"],
  ),
  verbRule(
    "kubernetes",
    "uninstall",
    [
      "k3s-uninstall.sh",
      "k3s-agent-uninstall.sh",
      "k3s-killall.sh",
      "rke2-uninstall.sh",
      "rke2-killall.sh",
      "microk8s",
    ],
    (command, words) => command.name !== "microk8s" || words[0] === "reset",
    [4, 4],
    "resource_deletion",
    "It takes the cluster off this machine, with what runs in it.",
    "Drain the node first, and back up the cluster's data.",
  ),
  verbRule(
    "kubernetes",
    "escape",
    KUBECTL,
    (command) =>
      command.args.some(unlocksHost) || unlocksHostInText(command.stdin?.text ?? "") ||
      hasFlag(command, "", "privileged") ||
      optionValues(command, "--profile").includes("sysadmin") ||
      command.args.some((arg, at) => arg.startsWith("node/") && command.args[at - 1] === "debug"),
    [4, 4],
    "privilege_escalation",
    "It starts a container that can reach the host itself.",
    "Leave out privileged, the host's namespaces and its paths.",
    ["run", "patch", "create", "replace", "debug", "set", "apply"],
  ),
];

const ADMINS = new Set(["admin", "cluster-admin"]);
const ANYBODY = new Set(["system:anonymous", "system:authenticated", "system:unauthenticated"]);

/** JSON of a pod that has the host's rights, namespaces or files. */
function unlocksHost(text: string): boolean {
  if (!text.includes("{")) return false;
  return HOST_KEYS.test(text.replaceAll(/[\s"']+/g, ""));
}

/** A manifest on standard input that does so, or binds somebody to the cluster's highest role. */
function unlocksHostInText(text: string): boolean {
  const manifest = text.replaceAll(/[\s"']+/g, "");
  return HOST_KEYS.test(manifest) ||
    (manifest.includes("name:cluster-admin") && /kind:(?:Cluster)?RoleBinding/.test(manifest));
}

const HOST_KEYS = /privileged:true|host(?:PID|Network|IPC):true|hostPath:/;
