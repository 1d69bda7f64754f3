import { type Rule, rule, type SimpleCommand } from "./rule.ts";
import { hasFlag, optionValues } from "../programs/arguments.ts";
import { isDisk, normalizePath } from "../programs/paths.ts";
import { isSecret } from "../programs/secrets.ts";

const DOCKER = ["docker", "podman", "nerdctl"];
const COMPOSE = [...DOCKER, "docker-compose", "podman-compose"];

/** Containers, their images and their volumes. */
export const CONTAINER_RULES: readonly Rule[] = [
  rule({
    id: "containers.remove_force",
    title: "Delete containers or images in use",
    commands: DOCKER,
    subcommands: ["rm", "container", "rmi"],
    match: (command, words) =>
      ((words[0] === "rm" || (words[0] === "container" && words[1] === "rm")) &&
        hasFlag(command, "fv", "force", "volumes")) ||
      (words[0] === "rmi" && hasFlag(command, "f", "force")),
    weight: [2, 3],
    threat: "resource_deletion",
    explanation: "It deletes containers or images even if they are in use.",
    safer: "Stop the container first.",
    hits: ["docker rm -f web", "podman rmi -f app:latest"],
    misses: ["docker stop web", "docker images"],
  }),
  rule({
    id: "containers.volumes",
    title: "Delete volumes",
    commands: COMPOSE,
    subcommands: "any",
    match: (command, words) =>
      (words[0] === "volume" && ["rm", "remove", "prune"].includes(words[1] ?? "")) ||
      (words.includes("down") && hasFlag(command, "v", "volumes", "rmi")) ||
      (wordsOfCompose(command, words).includes("rm") && hasFlag(command, "v", "volumes")) ||
      (words[0] === "system" && words[1] === "prune" && hasFlag(command, "", "volumes")),
    weight: [3, 5],
    threat: "data_loss",
    explanation: "It deletes volumes, and the data in them.",
    safer: "Back the volume up first.",
    hits: ["docker compose down -v", "podman volume prune -f"],
    misses: ["docker compose down", "docker volume ls"],
  }),
  rule({
    id: "containers.prune",
    title: "Delete stopped containers and unused images",
    commands: DOCKER,
    subcommands: "any",
    match: (command, words) =>
      words[1] === "prune" && words[0] !== "volume" &&
      (hasFlag(command, "a", "all") || words[0] === "container" || words[0] === "system"),
    weight: [2, 4],
    threat: "resource_deletion",
    explanation: "It deletes every stopped container and unused image.",
    safer: "Delete single images and containers by name.",
    hits: ["docker system prune -f", "podman image prune --all --force"],
    misses: ["docker image prune", "docker system df"],
  }),
  rule({
    id: "containers.remove_all",
    title: "Delete containers the line does not name",
    commands: DOCKER,
    subcommands: ["rm", "rmi", "stop", "kill"],
    match: (command) =>
      command.args.some((arg) => arg.includes("\0")) || hasFlag(command, "a", "all"),
    weight: [2, 4],
    threat: "resource_deletion",
    explanation: "It stops or deletes containers that the line does not name.",
    safer: "Name the containers.",
    hits: ["docker kill $(docker ps -q)", "podman rmi -a"],
    misses: ["docker ps -a", "docker stop web"],
  }),
  rule({
    id: "containers.reset",
    title: "Delete all containers and volumes",
    commands: ["podman"],
    subcommands: ["system", "machine"],
    match: (_command, words) => words[1] === "reset",
    weight: [3, 5],
    threat: "data_loss",
    explanation: "It deletes all containers, images, networks and volumes.",
    safer: "Delete single ones by name.",
    hits: ["podman system reset --force", "podman system reset"],
    misses: ["podman system df", "podman ps"],
  }),
  rule({
    id: "containers.escape",
    title: "Start a container that reaches the host",
    commands: [...COMPOSE, "ctr"],
    subcommands: "any",
    match: (command, words) =>
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
    weight: [4, 4],
    threat: "privilege_escalation",
    explanation: "It starts a container that can reach the host itself.",
    safer: "Mount the one folder that is needed, without --privileged.",
    hits: ["docker run -v /:/host alpine", "docker run --privileged alpine"],
    misses: ['docker run -v "$PWD":/app alpine', "docker run --rm alpine echo hello"],
  }),
  rule({
    id: "containers.swarm",
    title: "Leave a swarm by force",
    commands: DOCKER,
    subcommands: ["swarm"],
    match: (command, words) => words[1] === "leave" && hasFlag(command, "f", "force"),
    weight: [4, 4],
    threat: "service_disruption",
    explanation: "It takes the node out of its swarm by force.",
    safer: "Drain the node first.",
    hits: ["docker swarm leave --force", "docker swarm leave -f"],
    misses: ["docker swarm leave", "docker node ls"],
  }),
];

/** The arguments of `docker compose` or `docker-compose`; `docker rm` has a rule of its own. */
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
