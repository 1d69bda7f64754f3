import { hasFlag, optionValues } from "../programs/arguments.ts";
import type { Rule, SimpleCommand } from "../model.ts";
import { isDisk, normalizePath } from "../programs/paths.ts";
import { isSecret } from "../programs/secrets.ts";
import { verbRule } from "./define.ts";

const DOCKER = ["docker", "podman", "nerdctl"];
const COMPOSE = [...DOCKER, "docker-compose", "podman-compose"];

/** Containers, their images and their volumes. */
export const CONTAINER_RULES: readonly Rule[] = [
  verbRule(
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
  verbRule(
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
  verbRule(
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
  verbRule(
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
  verbRule(
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
  verbRule(
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
  verbRule(
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
