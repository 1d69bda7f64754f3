import { hasFlag, hasOption, isRehearsal, operands, optionValues } from "../arguments.ts";
import { once, type SimpleCommand } from "../command.ts";
import { isDisk, normalizePath } from "../paths.ts";
import type { Blast, Irreversibility, Pack, Rule } from "../rule.ts";
import { isSecret } from "../secrets.ts";

function rule(
  pack: Pack,
  id: string,
  commands: readonly string[],
  match: (command: SimpleCommand, words: readonly string[]) => boolean,
  weight: readonly [Blast, Irreversibility],
  threat: string,
  explanation: string,
  safer: string,
  verbs?: readonly string[],
): Rule {
  return {
    id: `${pack}.${id}`,
    pack,
    commands,
    ...(verbs && { when: { ask: verbOf, answers: verbs } }),
    match: (command) => match(command, once(command, lowerWords)) && !isRehearsal(command),
    blast: weight[0],
    irreversibility: weight[1],
    threat,
    explanation,
    safer_alternative: safer,
  };
}

const VALUED = new Set([
  "-n",
  "--namespace",
  "--context",
  "--kubeconfig",
  "-f",
  "--filename",
  "-l",
  "--selector",
  "-H",
  "--host",
  "-p",
  "--project-name",
  "--file",
  "--as",
  "--cluster",
  "-c",
  "--timeout",
  "--grace-period",
  "-o",
]);
const lowerWords = (command: SimpleCommand) =>
  operands(command, VALUED).map((word) => word.toLowerCase());

const verbOf = (command: SimpleCommand) => once(command, lowerWords)[0] ?? "";

const KUBECTL = ["kubectl", "oc", "k3s", "microk8s", "kubecolor", "k"];
const DOCKER = ["docker", "podman", "nerdctl"];
const COMPOSE = [...DOCKER, "docker-compose", "podman-compose"];

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

/** Containers and clusters. */
export const ORCHESTRATION_RULES: readonly Rule[] = [
  rule(
    "kubernetes",
    "delete_everything",
    KUBECTL,
    (command, words) => words.includes("delete") && hasFlag(command, "A", "all-namespaces"),
    [5, 4],
    "resource_deletion",
    "It deletes objects in every namespace.",
    SAFER_KUBECTL,
  ),
  rule(
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
  rule(
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
  rule(
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
  rule(
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
  rule(
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
  rule(
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
  rule(
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
  rule(
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
  rule(
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
  rule(
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
  rule(
    "containers",
    "remove_force",
    DOCKER,
    (command, words) =>
      ((words[0] === "rm" || (words[0] === "container" && words[1] === "rm")) &&
        hasFlag(command, "fv", "force", "volumes")) ||
      (words[0] === "rmi" && hasFlag(command, "f", "force")),
    [2, 3],
    "resource_deletion",
    "It deletes containers or images even if they are in use.",
    "Stop the container first.",
    ["rm", "container", "rmi"],
  ),
  rule(
    "containers",
    "volumes",
    COMPOSE,
    (command, words) =>
      (words[0] === "volume" && ["rm", "remove", "prune"].includes(words[1] ?? "")) ||
      (words.includes("down") && hasFlag(command, "v", "volumes", "rmi")) ||
      (wordsOfCompose(command, words).includes("rm") && hasFlag(command, "v", "volumes")) ||
      (words[0] === "system" && words[1] === "prune" && hasFlag(command, "", "volumes")),
    [3, 5],
    "data_loss",
    "It deletes volumes, and the data in them.",
    "Back the volume up first.",
  ),
  rule(
    "containers",
    "prune",
    DOCKER,
    (command, words) =>
      words[1] === "prune" && words[0] !== "volume" &&
      (hasFlag(command, "a", "all") || words[0] === "container" || words[0] === "system"),
    [2, 4],
    "resource_deletion",
    "It deletes every stopped container and unused image.",
    "Delete single images and containers by name.",
  ),
  rule(
    "containers",
    "remove_all",
    DOCKER,
    (command) => command.args.some((arg) => arg.includes("\0")) || hasFlag(command, "a", "all"),
    [2, 4],
    "resource_deletion",
    "It stops or deletes containers that the line does not name.",
    "Name the containers.",
    ["rm", "rmi", "stop", "kill"],
  ),
  rule(
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
  rule(
    "containers",
    "reset",
    ["podman"],
    (_command, words) => words[1] === "reset",
    [3, 5],
    "data_loss",
    "It deletes all containers, images, networks and volumes.",
    "Delete single ones by name.",
    ["system"],
  ),
  rule(
    "containers",
    "escape",
    [...COMPOSE, "ctr"],
    (command, words) =>
      (words.includes("run") || words.includes("exec") || words.includes("create")) &&
      (hasFlag(command, "", "privileged") ||
        optionValues(command, "--pid", "--net", "--network", "--ipc", "--userns", "--uts").some((
          value,
        ) => value === "host" && command.args.some((arg) => arg.startsWith("--pid"))) ||
        optionValues(command, "-v", "--volume", "--mount").some(mountsHost) ||
        optionValues(command, "--device").some((value) => isDisk(value.split(":", 1)[0]!)) ||
        optionValues(command, "--security-opt").some((value) => value.endsWith("unconfined")) ||
        optionValues(command, "--cap-add").some((value) =>
          HOST_RIGHTS.has(value.toUpperCase().replace("CAP_", ""))
        )),
    [4, 4],
    "privilege_escalation",
    "It starts a container that can reach the host itself.",
    "Mount the one folder that is needed, without --privileged.",
  ),
  rule(
    "containers",
    "swarm",
    DOCKER,
    (command, words) => words[1] === "leave" && hasFlag(command, "f", "force"),
    [4, 4],
    "service_disruption",
    "It takes the node out of its swarm by force.",
    "Drain the node first.",
    ["swarm"],
  ),
];

/** What `docker compose` or `docker-compose` is told; `docker rm` is another matter. */
function wordsOfCompose({ name }: SimpleCommand, words: readonly string[]): readonly string[] {
  return name.endsWith("compose") ? words : words[0] === "compose" ? words.slice(1) : [];
}

const ADMINS = new Set(["admin", "cluster-admin"]);
const ANYBODY = new Set(["system:anonymous", "system:authenticated", "system:unauthenticated"]);
const HOST_RIGHTS = new Set([
  "ALL",
  "SYS_ADMIN",
  "SYS_PTRACE",
  "SYS_MODULE",
  "SYS_RAWIO",
  "DAC_READ_SEARCH",
]);

/** Whether a container is given a folder of the host that rules it; programs and single files of `/etc` may be read. */
function mountsHost(value: string): boolean {
  const source = /(?:^|,)(?:source|src)=([^,]*)/.exec(value)?.[1] ?? value.split(":", 1)[0]!;
  if (source.includes("docker.sock") || source.includes("containerd.sock")) return true;
  const path = normalizePath(source);
  const readOnly = /:ro$|,(?:readonly|ro)\b/.test(value);
  if (readOnly && (HOST_PROGRAMS.test(path) || HOST_FILES.test(path))) return isSecret(path);
  return path === "/" || HOST_FOLDERS.some((one) => path === one || path.startsWith(`${one}/`)) ||
    path === "/var/lib" || path === "/var/lib/docker" ||
    (path === "/proc" && !value.endsWith(":ro"));
}

const HOST_PROGRAMS = /^\/(?:s?bin|boot|lib|usr)(?:\/|$)/;
/** What a folder or a file of another ending holds nobody knows. */
const HOST_FILES =
  /^\/etc\/(?:localtime|timezone|host(?:s|name)|os-release|machine-id|passwd|group|ssl\/certs|.*\.(?:cfg|conf|crt|ini|json|toml|ya?ml))$/;
const HOST_FOLDERS = ["/bin", "/boot", "/etc", "/lib", "/root", "/sbin", "/usr/bin", "/usr/lib"];

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
