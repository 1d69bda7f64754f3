import { type Rule, rule } from "./rule.ts";
import { hasFlag, hasOption, optionValues } from "../programs/arguments.ts";

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
  rule({
    id: "kubernetes.node_shell",
    title: "Open a shell on a node or as another user",
    commands: KUBECTL,
    subcommands: [
      "node-shell",
      "node_shell",
      "node-ssh",
      "ssh-node",
      "nsenter",
      "exec-as",
      "iexec",
      "pexec",
      "enter",
    ],
    match: () => true,
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation: "It opens a shell with the rights of a node, or of another user in a pod.",
    safer: "Read what is needed: kubectl logs, kubectl describe node.",
    hits: [
      "kubectl node-shell node-3",
      "kubectl exec-as -u root web-1 -- sh",
      "kubectl node-ssh n1",
    ],
    misses: ["kubectl get nodes", "kubectl describe node node-3", "kubectl node-shell --help"],
  }),
  rule({
    id: "kubernetes.delete_everything",
    title: "Delete objects in every namespace",
    commands: KUBECTL,
    subcommands: "any",
    match: (command, words) =>
      words[0] !== "auth" && words.includes("delete") && hasFlag(command, "A", "all-namespaces"),
    weight: [5, 4],
    threat: "resource_deletion",
    explanation: "It deletes objects in every namespace.",
    safer: SAFER_KUBECTL,
    hits: ["kubectl delete pods --all -A", "kubectl delete crd --all"],
    misses: [
      "kubectl get pods -A",
      "kubectl diff -f k8s/",
      "kubectl auth can-i delete pods --all-namespaces",
    ],
  }),
  rule({
    id: "kubernetes.delete_big",
    title: "Delete a namespace, volume or the like",
    commands: KUBECTL,
    subcommands: ["delete"],
    match: (command, words) =>
      (words[1] ?? "").split("/").join(",").split(",").some((kind) => BIG_KINDS.has(kind)) ||
      hasOption(command, "--all"),
    weight: [4, 4],
    threat: "resource_deletion",
    explanation: "It deletes something that holds other objects or data.",
    safer: SAFER_KUBECTL,
    hits: ["kubectl delete pvc data-0", "oc delete project payments"],
    misses: ["kubectl get pvc", "oc get projects"],
  }),
  rule({
    id: "kubernetes.delete",
    title: "Delete objects of the cluster",
    commands: KUBECTL,
    subcommands: ["delete"],
    match: () => true,
    weight: [2, 4],
    threat: "resource_deletion",
    explanation: "It deletes objects of the cluster.",
    safer: SAFER_KUBECTL,
    hits: ["kubectl delete -f k8s/", "kubectl delete deployment api"],
    misses: ["kubectl apply -f k8s/", "kubectl describe deployment api"],
  }),
  rule({
    id: "kubernetes.replace",
    title: "Delete and recreate objects",
    commands: KUBECTL,
    subcommands: ["replace"],
    match: (command) => hasFlag(command, "", "force"),
    weight: [3, 4],
    threat: "resource_deletion",
    explanation: "It deletes objects and creates them again.",
    safer: "Use kubectl apply.",
    hits: ["kubectl replace --force -f pod.yaml", "oc replace --force -f deploy.yaml"],
    misses: ["kubectl diff -f pod.yaml", "kubectl rollout status deploy/api"],
  }),
  rule({
    id: "kubernetes.prune",
    title: "Delete objects that the files do not name",
    commands: KUBECTL,
    subcommands: ["apply"],
    match: (command) => hasOption(command, "--prune"),
    weight: [3, 4],
    threat: "resource_deletion",
    explanation: "It deletes every object that the files do not name.",
    safer: SAFER_KUBECTL,
    hits: ["kubectl apply --prune -f k8s/ -l app=web", "kubectl apply -f k8s/ --prune --all"],
    misses: ["kubectl apply -f k8s/", "kubectl get all -l app=web"],
  }),
  rule({
    id: "kubernetes.evict",
    title: "Take every workload off a node",
    commands: KUBECTL,
    subcommands: ["drain", "patch", "taint"],
    match: (command, words) =>
      words[0] === "drain" || command.args.some((arg) => arg.toLowerCase().includes("noexecute")),
    weight: [3, 3],
    threat: "service_disruption",
    explanation: "It takes every workload off a node.",
    safer: "Cordon the node, and move workloads one by one.",
    hits: [
      "kubectl drain node-7 --ignore-daemonsets",
      "kubectl taint nodes node-1 key=value:NoExecute",
    ],
    misses: ["kubectl get nodes", "kubectl describe node node-7"],
  }),
  rule({
    id: "kubernetes.scale_to_zero",
    title: "Stop every copy of a workload",
    commands: KUBECTL,
    subcommands: ["scale", "patch"],
    match: (command, words) =>
      (words[0] === "scale" && optionValues(command, "--replicas").includes("0")) ||
      (words[0] === "patch" &&
        optionValues(command, "-p", "--patch").some((text) =>
          text.replaceAll(" ", "").includes('"replicas":0')
        )),
    weight: [3, 3],
    threat: "service_disruption",
    explanation: "It stops every copy of a workload.",
    safer: "Scale down step by step.",
    hits: [
      "kubectl scale deploy/api --replicas=0",
      `kubectl patch deploy api -p '{"spec":{"replicas":0}}'`,
    ],
    misses: ["kubectl scale deploy/api --replicas=3", "kubectl get deploy api"],
  }),
  rule({
    id: "kubernetes.read_secrets",
    title: "Print the cluster's secrets",
    commands: KUBECTL,
    subcommands: ["get"],
    match: (command, words) =>
      words.slice(1).some((word) => word.split("/", 1)[0]!.split(",").some(isSecretKind)) &&
      (optionValues(command, "-o", "--output").some(showsData) ||
        optionValues(command, "--template").length > 0),
    weight: [3, 3],
    threat: "credential_access",
    explanation: "It prints the cluster's secrets.",
    safer: "Describe the secret, which shows names only.",
    hits: [
      "kubectl get secrets -A -o yaml",
      "kubectl get secret db -o jsonpath='{.data.password}'",
      "kubectl get cm,secret -A -o json",
    ],
    misses: [
      "kubectl get secrets",
      "kubectl get secret -o jsonpath='{.items[*].metadata.name}'",
      "kubectl get configmap app -o yaml",
    ],
  }),
  rule({
    id: "kubernetes.grant",
    title: "Grant every right in a cluster",
    commands: KUBECTL,
    subcommands: ["create"],
    match: (command, words) =>
      (words[1] === "clusterrolebinding" || words[1] === "rolebinding") &&
      (optionValues(command, "--clusterrole").some((role) => ADMINS.has(role)) ||
        optionValues(command, "--group").some((group) => ANYBODY.has(group))),
    weight: [4, 3],
    threat: "privilege_escalation",
    explanation: "It gives somebody every right in the cluster or a namespace.",
    safer: "Bind a role with the rights that are needed.",
    hits: [
      "kubectl create clusterrolebinding x --clusterrole=cluster-admin --user=bob",
      "kubectl create rolebinding x --clusterrole=admin --serviceaccount=default:default",
    ],
    misses: [
      "kubectl create rolebinding x --clusterrole=view --user=bob",
      "kubectl auth can-i list pods",
    ],
  }),
  rule({
    id: "kubernetes.open_api",
    title: "Offer the cluster's interface to everybody",
    commands: KUBECTL,
    subcommands: ["proxy"],
    match: (command) => optionValues(command, "--address").some((address) => address === "0.0.0.0"),
    weight: [4, 3],
    threat: "exposure",
    explanation: "It offers the cluster's interface, with your rights, to whoever can connect.",
    safer: "Leave out --address: the proxy listens on the loopback address.",
    hits: ["kubectl proxy --address=0.0.0.0 --accept-hosts=.*", "kubectl proxy --address 0.0.0.0"],
    misses: ["kubectl proxy --port 8001", "kubectl port-forward svc/web 8080:80"],
  }),
  rule({
    id: "kubernetes.uninstall",
    title: "Remove the cluster from this machine",
    commands: [
      "k3s-uninstall.sh",
      "k3s-agent-uninstall.sh",
      "k3s-killall.sh",
      "rke2-uninstall.sh",
      "rke2-killall.sh",
      "microk8s",
    ],
    subcommands: "any",
    match: (command, words) => command.name !== "microk8s" || words[0] === "reset",
    weight: [4, 4],
    threat: "resource_deletion",
    explanation: "It removes the cluster from this machine, with all its workloads.",
    safer: "Drain the node first, and back up the cluster's data.",
    hits: ["k3s-uninstall.sh", "microk8s reset"],
    misses: ["microk8s status", "k3s check-config"],
  }),
  rule({
    id: "kubernetes.escape",
    title: "Start a container that reaches the host",
    commands: KUBECTL,
    subcommands: ["run", "patch", "create", "replace", "debug", "set", "apply"],
    match: (command) =>
      command.args.some(unlocksHost) || unlocksHostInText(command.stdin?.text ?? "") ||
      hasFlag(command, "", "privileged") ||
      optionValues(command, "--profile").includes("sysadmin") ||
      command.args.some((arg, at) => arg.startsWith("node/") && command.args[at - 1] === "debug"),
    weight: [4, 4],
    threat: "privilege_escalation",
    explanation: "It starts a container that can reach the host itself.",
    safer: "Leave out privileged, the host's namespaces and its paths.",
    hits: ["kubectl run x --image=evil --privileged", "kubectl debug node/n1 -it --image=alpine"],
    misses: ["kubectl run x --image=alpine", "kubectl debug pod/web -it --image=busybox"],
  }),
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

const isSecretKind = (kind: string): boolean =>
  kind === "secret" || kind === "secrets" || kind.startsWith("secrets.");

/** Whether a format prints more than names: one that is made of metadata alone does not. */
function showsData(format: string): boolean {
  if (format === "name" || format === "wide") return false;
  return !format.includes("metadata") || format.replaceAll("metadata", "").includes("data");
}
